package dispatch

import "strings"

// defaultBudget is the inline budget in bytes for an agent nobody knows.
const defaultBudget = 16 << 10

// clients are the agents whose limits are known, by a word in their clientInfo.name: what each shows
// its model before it cuts or refuses.
var clients = []struct {
	word  string
	bytes int
	lines int // 0 = no limit
}{
	{word: "claude-code", bytes: 24 << 10},
	{word: "visual-studio-code", bytes: 7680},
	{word: "vscode", bytes: 7680},
	{word: "copilot", bytes: 7680},
	{word: "codex", bytes: 9 << 10, lines: 240},
}

// Budget returns the inline budget in bytes of an agent with that clientInfo.name.
func (d *Dispatcher) Budget(client string) int {
	if d.o.Threshold > 0 {
		return d.o.Threshold
	}
	bytes, _ := clientLimits(client)
	return bytes
}

// clientLimits returns the most bytes and lines of an inline answer to that client; 0 lines is no limit.
func clientLimits(client string) (bytes, lines int) {
	name := strings.Join(strings.Fields(strings.ToLower(client)), "-")
	for _, c := range clients {
		if strings.Contains(name, c.word) {
			return c.bytes, c.lines
		}
	}
	return defaultBudget, 0
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
