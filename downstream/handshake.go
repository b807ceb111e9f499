package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/remote"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Two eras of the protocol need two greetings: initialize, which opens a session, and server/discover, which only
// asks, for versions without sessions. Which comes first is a matter of what a wrong guess costs.
//
// A stdio server is asked initialize first. Servers of the old era, which is nearly all of them, then start without
// any delay, and none sees an unknown method before its handshake: some ignore that, some log it, some exit. A
// server of the new era only answers initialize with an error, at once, and is then asked to discover. A server of
// both eras speaks the old one, which lacks nothing we carry.
//
// An HTTP server is asked to discover first, for a second at most: a refused POST costs one round trip and
// breaks nothing, and the new era saves the session. What a server turned out to speak is remembered for its
// next session, so that no guess is paid for twice.

const (
	probeTime     = time.Second
	modernVersion = mcp.ProtocolVersion20260728
	legacyVersion = mcp.ProtocolVersion20251125
)

// era is what is known of the protocol a server speaks.
type era string

const (
	eraUnknown era = ""
	eraLegacy  era = "legacy"
	eraModern  era = modernVersion
)

func eraOf(protocol string) (era, error) {
	switch protocol {
	case "", "auto":
		return eraUnknown, nil
	case "legacy":
		return eraLegacy, nil
	case modernVersion:
		return eraModern, nil
	}
	return "", fmt.Errorf("unknown protocol %q: auto, legacy or %s", protocol, modernVersion)
}

// greet makes a session of a fresh connection.
func (s *session) greet(ctx context.Context, known era, probeFirst bool) error {
	switch {
	case known == eraModern:
		return s.discover(ctx)
	case known == eraLegacy:
		return s.initialize(ctx)
	case probeFirst:
		return s.probeThenInitialize(ctx)
	}
	err := s.initialize(ctx)
	if _, answered := errors.AsType[*RPCError](err); !answered {
		return err
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if s.discover(probe) == nil {
		return nil
	}
	return err
}

func (s *session) probeThenInitialize(ctx context.Context) error {
	probe, cancel := context.WithTimeout(ctx, probeTime)
	err := s.discover(probe)
	cancel()
	if err == nil || s.Life().Err() != nil || errors.Is(err, ErrAuthRequired) {
		return err
	}
	err = s.initialize(ctx)
	if rpc, answered := errors.AsType[*RPCError](err); answered && remote.NewEra(rpc.Code) {
		return s.discover(ctx) // it was only slower than the probe
	}
	return err
}

// discover greets a server of the new era. A reply that names no version is no discovery: old servers answer
// unknown methods in many ways.
func (s *session) discover(ctx context.Context) error {
	s.modern, s.version = true, modernVersion
	s.Settle(modernVersion)
	result, err := s.ask(ctx, string(mcp.MethodServerDiscover), nil)
	if offersAfterAll(err) {
		result, err = s.ask(ctx, string(mcp.MethodServerDiscover), nil)
	}
	if err == nil {
		var found struct {
			SupportedVersions []string `json:"supportedVersions"`
		}
		if json.Unmarshal(result, &found) == nil && slices.Contains(found.SupportedVersions, modernVersion) {
			s.hello = result
			return nil
		}
		err = wire.Failed(Ran, fmt.Errorf("the server does not speak protocol %s", modernVersion))
	}
	s.modern, s.version = false, ""
	s.Settle("")
	return err
}

// offersAfterAll says that a server refused our version and lists it as one it speaks, as one of several behind an
// address may while they are renewed: it is worth another question.
func offersAfterAll(err error) bool {
	rpc, answered := errors.AsType[*RPCError](err)
	if !answered || rpc.Code != mcp.UNSUPPORTED_PROTOCOL_VERSION {
		return false
	}
	var refusal struct {
		Supported []string `json:"supported"`
	}
	return json.Unmarshal(rpc.Data, &refusal) == nil && slices.Contains(refusal.Supported, modernVersion)
}

// initialize greets a server of the old era. Whatever version it names is taken: what we carry is the same in all.
func (s *session) initialize(ctx context.Context) error {
	client, err := json.Marshal(s.client.Info)
	if err != nil {
		panic(err) // two strings always marshal
	}
	capabilities, err := rawjson.OneLine(s.client.Capabilities)
	if err != nil || len(capabilities) == 0 {
		capabilities = []byte(`{}`)
	}
	params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, legacyVersion, capabilities, client)
	result, err := s.ask(ctx, string(mcp.MethodInitialize), params)
	if err != nil {
		return err
	}
	var found struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(result, &found); err != nil {
		return wire.Failed(Ran, fmt.Errorf("read the answer to initialize: %w", err))
	}
	s.hello, s.version = result, found.ProtocolVersion
	s.Settle(found.ProtocolVersion)
	s.Notify("notifications/initialized", nil)
	return nil
}
