package dispatch

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// HelpAnswer explains an action or a parameter.
type HelpAnswer struct {
	Action  string   `json:"action"`
	Topic   string   `json:"topic"`
	Text    string   `json:"text"`
	Repairs []string `json:"repairs,omitempty"`
}

//go:embed help.txt
var helpText string

// helpTopics are the texts of help.txt by topic, and the topics in order. A topic starts with a line
// `== name, other name` and ends at the next.
var helpTopics = sync.OnceValues(func() (map[string]string, []string) {
	topics := map[string]string{}
	var order []string
	for part := range strings.SplitSeq("\n"+helpText, "\n== ") {
		head, body, ok := strings.Cut(part, "\n")
		if !ok || strings.TrimSpace(head) == "" {
			continue
		}
		for name := range strings.SplitSeq(head, ",") {
			name = strings.TrimSpace(name)
			topics[name] = strings.TrimSpace(body)
			order = append(order, name)
		}
	}
	return topics, order
})

// overview is the topic of help without a topic.
const overview = "overview"

// Help explains an action or a parameter; topic "" gives an overview.
func Help(topic string) (*HelpAnswer, error) {
	if topic == "" {
		topic = overview
	}
	topics, order := helpTopics()
	text, ok := topics[topic]
	if !ok {
		names := append([]string(nil), order...)
		sort.Strings(names)
		near := arguments.Nearest(topic, names, 3)
		return nil, &Error{Code: NotFound, Message: fmt.Sprintf("there is no help on %q", topic), Suggestions: near,
			Do: "Topics: " + strings.Join(names, ", ")}
	}
	return &HelpAnswer{Action: "help", Topic: topic, Text: text}, nil
}

func (a *HelpAnswer) render(r *request, _ int) json.RawMessage {
	if r.wantsJSON() {
		a.Repairs = r.notes
		return jsonResult(a, false)
	}
	return textResult(withRepairs(r.notes, a.Text))
}
