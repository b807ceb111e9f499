package dispatch

import (
	"fmt"
	"strings"
	"testing"
)

func TestClientLimits(t *testing.T) {
	for _, tc := range []struct {
		client       string
		bytes, lines int
	}{
		{"", 16 << 10, 0},
		{"some-agent", 16 << 10, 0},
		{"claude-code", 24 << 10, 0},
		{"Claude Code", 24 << 10, 0},
		{"Visual Studio Code", 7680, 0},
		{"Visual Studio Code - Insiders", 7680, 0},
		{"GitHub Copilot", 7680, 0},
		{"github-copilot-developer", 7680, 0},
		{"codex-mcp-client", 9 << 10, 240},
	} {
		t.Run(tc.client, func(t *testing.T) {
			bytes, lines := clientLimits(tc.client)
			if bytes != tc.bytes || lines != tc.lines {
				t.Errorf("got %d bytes, %d lines, want %d, %d", bytes, lines, tc.bytes, tc.lines)
			}
		})
	}
}

// The budget holds for what is said around a text as well.
func TestReadingsKeepTheBudget(t *testing.T) {
	d, _ := newHouse(t, nil)
	handle := ask(t, d, `{"action":"call","tool":"rows","arguments":{"n":4000}}`).Get(`_meta.proxy-dispatch.handle`).String()
	for _, op := range []string{`"op":"read"`, `"op":"head","lines":9999`, `"op":"tail","lines":9999`, `"op":"slice","fromLine":2,"toLine":9999`,
		`"op":"grep","pattern":"i","limit":9999`, `"op":"bytes"`, `"op":"sample","lines":9999`} {
		for _, format := range []string{"compact", "json"} {
			t.Run(op+format, func(t *testing.T) {
				got := said(ask(t, d, fmt.Sprintf(`{"action":"read","resultFile":%q,"format":%q,%s}`, handle, format, op)))
				if n := len(got); n > defaultBudget || n < defaultBudget/2 {
					t.Errorf("got %d bytes, want at most %d and not far below", n, defaultBudget)
				}
			})
		}
	}
}

func TestReportsKeepTheBudget(t *testing.T) {
	d, _ := newHouse(t, nil)
	calls := strings.Repeat(`{"tool":"rows","arguments":{"n":100}},`, 50)
	got := said(ask(t, d, `{"action":"batch","calls":[`+strings.TrimRight(calls, ",")+`]}`))
	if n := strings.Count(got, "Result kept: "); n == 0 || len(got) > defaultBudget {
		t.Errorf("got %d bytes with %d reports, want at most %d", len(got), n, defaultBudget)
	}
}
