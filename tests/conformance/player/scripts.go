package player

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// scripts are the scenarios that want something else than listAndCall.
var scripts = map[string]func(*player, context.Context) error{
	"initialize":                          (*player).list,
	"request-metadata":                    (*player).list,
	"json-schema-ref-no-deref":            (*player).list,
	"json-schema-2020-12-preservation":    (*player).echoSchema,
	"tools_call":                          calling(`{"a":5,"b":3}`, "add_numbers"),
	"sse-retry":                           calling(`{}`, "test_reconnection"),
	"elicitation-sep1034-client-defaults": calling(`{}`, "test_client_elicitation_defaults"),
	"sep-2322-client-request-state":       calling(`{}`, "test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"),
	"http-standard-headers":               (*player).everyMethod,
	"http-custom-headers":                 (*player).givenCalls,
	"http-invalid-tool-headers":           (*player).callAll,
}

func (p *player) list(ctx context.Context) error {
	_, err := p.tools(ctx)
	return err
}

// calling lists the tools and calls some of them.
func calling(arguments string, tools ...string) func(*player, context.Context) error {
	return func(p *player, ctx context.Context) error {
		if err := p.list(ctx); err != nil {
			return err
		}
		for _, tool := range tools {
			if err := p.call(ctx, tool, json.RawMessage(arguments)); err != nil {
				return err
			}
		}
		return nil
	}
}

// listAndCall is what the scenarios of logins want.
func (p *player) listAndCall(ctx context.Context) error { return calling(`{}`, "test-tool")(p, ctx) }

// callAll calls every tool that was offered.
func (p *player) callAll(ctx context.Context) error {
	tools, err := p.tools(ctx)
	for _, entry := range tools {
		if err := p.call(ctx, name(entry), json.RawMessage(`{"region":"us-west1"}`)); err != nil {
			return err
		}
	}
	return err
}

func (p *player) givenCalls(ctx context.Context) error {
	if err := p.list(ctx); err != nil {
		return err
	}
	for _, c := range p.given.ToolCalls {
		if err := p.call(ctx, c.Name, c.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema shows the server what arrived of a schema.
func (p *player) echoSchema(ctx context.Context) error {
	tools, err := p.tools(ctx)
	for _, entry := range tools {
		if name(entry) == "json_schema_2020_12_tool" {
			return p.call(ctx, "json_schema_echo", fmt.Appendf(nil, `{"schema":%s}`, rawjson.Member(entry, "inputSchema")))
		}
	}
	return err
}

// everyMethod uses tools, resources and prompts once each.
func (p *player) everyMethod(ctx context.Context) error {
	for _, m := range []struct{ list, all, key, use, params string }{
		{"tools/list", "tools", "name", "tools/call", `{"name":%s,"arguments":{}}`},
		{"resources/list", "resources", "uri", "resources/read", `{"uri":%s}`},
		{"prompts/list", "prompts", "name", "prompts/get", `{"name":%s,"arguments":{}}`},
	} {
		result, err := p.do(ctx, m.list, `{}`)
		if err != nil {
			return err
		}
		for entry := range rawjson.Elements(rawjson.Member(result, m.all)) {
			if _, err := p.do(ctx, m.use, fmt.Sprintf(m.params, rawjson.Member(entry, m.key))); err != nil {
				return err
			}
			break
		}
	}
	return nil
}
