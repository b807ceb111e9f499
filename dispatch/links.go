package dispatch

import (
	"encoding/json"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// linked are clients that show a person the resources a tool's result links to, to open, save or attach, by a word in
// their clientInfo.name. For others a link is only a second name of what the report names already, paid for by the model.
var linked = []string{"visual-studio-code", "vscode", "code---insiders", "inspector"}

func showsLinks(client string) bool {
	name := strings.Join(strings.Fields(strings.ToLower(client)), "-")
	for _, word := range linked {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// ReadAsResource is a CallRequest.Reader for faces whose agents read resources by the protocol's own method.
func ReadAsResource(uri string) string { return "resources/read " + uri }

// reportBlocks are the report of a kept result and, where the agent's client has a use for it, a link to it: together
// within the tokens of a report.
func (d *Dispatcher) reportBlocks(a Agent, art *spill.Artifact, extra spill.ReportExtra) []json.RawMessage {
	if !showsLinks(a.Client) || art.ID == "" {
		return []json.RawMessage{textBlock(art.Report(extra))}
	}
	link := mustJSON(struct {
		Type     string `json:"type"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		MimeType string `json:"mimeType,omitempty"`
	}{"resource_link", art.URI() + "?op=read", art.Handle, art.MimeType})
	extra.Beside += d.o.Tokens.Count(string(link))
	return []json.RawMessage{textBlock(art.Report(extra)), link}
}
