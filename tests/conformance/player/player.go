// Package player plays the client's part in the scenarios of the public conformance suites, with the rooms that the proxy reaches servers with.
package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// EnvKey names the environment variable that turns a test binary into this client; see RunIfAsked.
const EnvKey = "PROXY_DISPATCH_PLAYER"

// RunIfAsked plays and exits if the environment has EnvKey set; otherwise it returns at once.
func RunIfAsked() {
	if os.Getenv(EnvKey) != "" {
		os.Exit(Main(os.Args[1:]))
	}
}

// patience bounds a whole scenario.
const patience = 25 * time.Second

// server is what the one server is called.
const server = "suite"

// Main plays the scenario that the environment names against the URL that is the last argument, and returns the exit code.
func Main(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := play(ctx, args[len(args)-1], os.Getenv("MCP_CONFORMANCE_SCENARIO"), []byte(os.Getenv("MCP_CONFORMANCE_CONTEXT"))); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		return 1
	}
	return 0
}

// given is what a scenario tells its client beforehand.
type given struct {
	ClientID       string `json:"client_id"`
	ClientSecret   string `json:"client_secret"`
	PrivateKey     string `json:"private_key_pem"`
	WorkloadToken  string `json:"valid_jwt"`
	IDToken        string `json:"idp_id_token"`
	IdentityURL    string `json:"idp_token_endpoint"`
	IdentityClient string `json:"idp_client_id"`
	ToolCalls      []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

// player is a client of one server.
type player struct {
	fleet *downstream.Fleet
	given given
	ask   func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

func play(ctx context.Context, url, scenario string, told []byte) error {
	protocol := "auto"
	if os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28" {
		protocol = "2026-07-28" // on a busy machine a scenario may be slower than the probe
	}
	p := &player{ask: agree}
	if len(told) > 0 {
		if err := json.Unmarshal(told, &p.given); err != nil {
			return fmt.Errorf("read the context: %w", err)
		}
	}
	s := downstream.Server{Name: server, URL: url, Lazy: true, Protocol: protocol}
	end, err := p.login(scenario, &s)
	if err != nil {
		return err
	}
	defer end()
	p.fleet, err = downstream.New(downstream.Options{
		Servers: []downstream.Server{s}, Capabilities: json.RawMessage(`{"roots":{},"sampling":{},"elicitation":{}}`), Asked: p.outside,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer p.fleet.Close()
	script := scripts[scenario]
	if script == nil {
		script = (*player).listAndCall
	}
	return script(p, ctx)
}

func (p *player) outside(ctx context.Context, _, method string, params json.RawMessage) (json.RawMessage, error) {
	return p.ask(ctx, method, params)
}

// do sends one request; params is its params as they are.
func (p *player) do(ctx context.Context, method, params string) (json.RawMessage, error) {
	return p.fleet.Do(ctx, downstream.Request{Server: server, Method: method, Params: json.RawMessage(params), Ask: p.ask})
}

// call calls a tool. An error of the server's own is none of ours: some scenarios want one.
func (p *player) call(ctx context.Context, tool string, arguments json.RawMessage) error {
	_, err := p.do(ctx, "tools/call", fmt.Sprintf(`{"name":%s,"arguments":%s}`, rawjson.Quote(tool), arguments))
	if _, theirs := errors.AsType[*downstream.RPCError](err); theirs {
		return nil
	}
	return err
}

// tools lists them, in their order.
func (p *player) tools(ctx context.Context) (list []json.RawMessage, err error) {
	result, err := p.do(ctx, "tools/list", `{}`)
	if err != nil {
		return nil, err
	}
	for entry := range rawjson.Elements(rawjson.Member(result, "tools")) {
		list = append(list, entry)
	}
	return list, nil
}

func name(entry json.RawMessage) string { return rawjson.Unquote(rawjson.Member(entry, "name")) }

// agree is a person who takes what a form proposes and agrees to all else.
func agree(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != "elicitation/create" {
		return nil, &downstream.RPCError{Code: -32601, Message: "method not found"}
	}
	content := []byte(`{}`)
	for key, field := range rawjson.Members(rawjson.Member(rawjson.Member(params, "requestedSchema"), "properties")) {
		value := rawjson.Member(field, "default")
		if value == nil && rawjson.Unquote(rawjson.Member(field, "type")) == "boolean" {
			value = json.RawMessage(`true`)
		}
		if value != nil {
			content = rawjson.Set(content, key, value)
		}
	}
	return fmt.Appendf(nil, `{"action":"accept","content":%s}`, content), nil
}
