package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

func (c *console) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON | @FILE | -a KEY=VALUE … | --KEY VALUE …]",
		Short: "Call a tool and print its whole result",
		Long: `call runs one tool with the checks and repairs that agents get, and prints the result as it is:
text blocks as text, --json with everything. Only the server of the tool is started, if the tools are known.

Arguments are a JSON object, @FILE with one (@- is stdin), or single values, which may follow it:
  -a KEY=VALUE   a value as text; it becomes a number, a boolean, a list or an object where the schema wants one
  -a KEY:=JSON   a value as JSON
  --KEY VALUE    the same as -a KEY=VALUE; without VALUE it is true; given twice it is a list
Flags of this program are listed below; after -- every flag is the tool's.

  --json         print JSON for programs
  --server S     only this server
  --view V       as agents of a tool view call it
  --type T       tool (default), resource (TOOL is a URI) or prompt
  --spill        keep the result and print the report; ` + "`proxy-dispatch read HANDLE OP`" + ` shows parts of it
  --timeout D    how long the call may take, such as 30s
  --dry-run      check the arguments and show what would be sent
  --config FILE, --verbose, --help`,
		Example: `  proxy-dispatch call github/search_code '{"query": "dispatch"}'
  proxy-dispatch call search_code --query dispatch --limit 5
  proxy-dispatch call search_code -a query=dispatch -a labels:='["bug"]'
  proxy-dispatch call import_rows @rows.json --spill`,
		DisableFlagParsing: true, // unknown flags are the tool's arguments
		RunE: func(cmd *cobra.Command, words []string) error {
			line, err := parseCall(words)
			if err != nil {
				return err
			}
			if line.help {
				return cmd.Help()
			}
			return c.call(cmd.Context(), line)
		},
	}
	return cmd
}

func (c *console) call(ctx context.Context, line *callLine) error {
	if line.config != "" {
		c.configPath = line.config
	}
	c.verbose, c.json = c.verbose || line.verbose, line.json
	if err := checkKind(line.kind); err != nil {
		return err
	}
	args, err := line.arguments(c.in)
	if err != nil {
		return err
	}
	p, err := c.forCommand(ctx, wiring{keep: line.spill})
	if err != nil {
		return err
	}
	defer p.Close()
	agent, err := p.within(line.view)
	if err != nil {
		return err
	}
	whole := int64(0)
	r := dispatch.CallRequest{
		Tool: line.tool, Type: line.kind, Connection: line.server, Arguments: args, Threshold: &whole, ToFile: line.spill,
		Timeout: line.timeout, DryRun: line.dryRun,
	}
	if c.onTerminal(c.err) {
		r.Progress = c.showProgress
	}
	var answer *dispatch.CallAnswer
	err = c.withTool(ctx, p, line.tool, line.server, func() (err error) {
		answer, err = p.dispatcher.Call(ctx, agent, r)
		return err
	})
	if err != nil {
		return c.refused(err)
	}
	if c.json {
		err = c.showJSON(answer)
	} else {
		for _, note := range answer.Repairs {
			if !line.asText(note) {
				c.say("repaired: %s", note)
			}
		}
		err = c.showContent(answer)
	}
	if err != nil {
		return err
	}
	if line.spill && answer.Handle != "" {
		c.say("Read it with: proxy-dispatch read %s head", answer.Handle)
	}
	if answer.IsError {
		return &exitError{code: exitFailed}
	}
	return nil
}

// refused passes an error on, in JSON on stdout where a program reads.
func (c *console) refused(err error) error {
	e, ok := err.(*dispatch.Error)
	if !ok || !c.json {
		return err
	}
	if err := c.showJSON(e); err != nil {
		return err
	}
	return &exitError{code: codeOf(e)}
}

// showProgress tells people how far a call is.
func (c *console) showProgress(params json.RawMessage) {
	var p struct {
		Progress, Total json.Number
		Message         string
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	text := p.Progress.String()
	if p.Total != "" {
		text += "/" + p.Total.String()
	}
	c.say("%s", c.paint(c.err, grey, strings.TrimSpace(text+" "+catalog.Clean(firstLine(p.Message, 100)))))
}

// showContent prints a result for people: text as it is, and a line for each block that is no text.
func (c *console) showContent(a *dispatch.CallAnswer) error {
	shown := false
	for _, raw := range a.Content {
		text, ok := blockText(raw)
		shown = shown || ok
		if err := c.show("%s", strings.TrimSuffix(text, "\n")); err != nil {
			return err
		}
	}
	if !shown && a.StructuredContent != nil {
		return c.showJSON(a.StructuredContent)
	}
	return nil
}

// blockText is a content block as text; ok is false for what is only named.
func blockText(raw json.RawMessage) (text string, ok bool) {
	var b struct {
		Type, Text, Data, MimeType, URI, Name string
		Resource                              struct {
			Text, Blob *string
			URI        string
			MimeType   string
		}
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return string(raw), true
	}
	switch {
	case b.Type == "text":
		return b.Text, true
	case b.Type == "resource" && b.Resource.Text != nil:
		return *b.Resource.Text, true
	case b.Type == "resource" && b.Resource.Blob != nil:
		return fmt.Sprintf("[resource %s %s, %d bytes]", b.Resource.URI, b.Resource.MimeType, decodedLen(*b.Resource.Blob)), false
	case b.Type == "resource_link":
		return fmt.Sprintf("[link %s %s]", b.URI, b.Name), false
	case b.Data != "":
		return fmt.Sprintf("[%s %s, %d bytes]", b.Type, b.MimeType, decodedLen(b.Data)), false
	}
	return string(raw), true
}

func decodedLen(base64 string) int { return len(strings.TrimRight(base64, "=")) * 3 / 4 }

// callLine is a command line of call.
type callLine struct {
	tool, server, view, config         string
	kind                               catalog.Kind
	json, spill, dryRun, verbose, help bool
	timeout                            time.Duration
	whole                              string // the JSON object or @FILE, "" if none
	single                             []keyValue
}

// keyValue is one argument given by itself.
type keyValue struct {
	key, value string
	raw        bool // value is JSON
}

// asText reports whether a repair gave a value its type that the command line could only give as text.
func (l *callLine) asText(note string) bool {
	return slices.ContainsFunc(l.single, func(kv keyValue) bool { return !kv.raw && strings.HasPrefix(note, kv.key+": ") })
}
