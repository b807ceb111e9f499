package dispatch

import "testing"

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
