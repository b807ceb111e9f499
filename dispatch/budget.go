package dispatch

import "strings"

// defaultBudget is the inline budget in bytes for an agent nobody knows.
const defaultBudget = 16 << 10

// clientBudgets are the inline budgets of known agents by what their clientInfo.name begins with:
// what each shows its model before it cuts or refuses.
var clientBudgets = []struct {
	prefix string
	bytes  int
}{
	{"claude-code", 24 << 10},
	{"visual studio code", 7680},
	{"vscode", 7680},
	{"copilot", 7680},
	{"github-copilot", 7680},
	{"codex", 9 << 10},
}

// codexLines is the most lines a Codex agent shows.
const codexLines = 240

// Budget returns the inline budget in bytes of an agent with that clientInfo.name.
func (d *Dispatcher) Budget(client string) int {
	if d.o.Threshold > 0 {
		return d.o.Threshold
	}
	name := clientName(client)
	for _, b := range clientBudgets {
		if strings.HasPrefix(name, b.prefix) {
			return b.bytes
		}
	}
	return defaultBudget
}

func clientName(client string) string {
	name := strings.ToLower(strings.TrimSpace(client))
	if strings.HasPrefix(name, "claude code") {
		return "claude-code"
	}
	return name
}

// lineLimit returns the most lines of an inline answer to that client, 0 for no limit.
func lineLimit(client string) int {
	if strings.HasPrefix(clientName(client), "codex") {
		return codexLines
	}
	return 0
}

// limit returns the inline budget of one call in bytes, -1 for none.
func (d *Dispatcher) limit(a Agent, r CallRequest) int64 {
	switch {
	case r.Threshold == nil:
		return int64(d.Budget(a.Client))
	case *r.Threshold == 0:
		return -1
	}
	return *r.Threshold
}
