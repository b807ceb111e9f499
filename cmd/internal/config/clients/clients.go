// Package clients moves the servers of an MCP client behind us: given the client's configuration file
// and ours, it works out both files as they are to be. It knows where clients keep their files, and
// reads and writes none.
package clients

import (
	"path/filepath"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
)

// EntryName is the name of our own entry in a client's configuration.
const EntryName = "proxy-dispatch"

// client is what is particular about one client's configuration.
type client struct {
	block string // key of its server block
	typed bool   // its entries say type: stdio
	// Which ${…} its texts may hold: none (they are literal), ${VAR} as ours, or ${env:VAR} beside
	// variables that only it can fill in.
	literal, envOnly bool
	files            func(p clientPaths) []string
}

// clientPaths are the folders that a client's files are found under.
type clientPaths struct{ dir, home, settings string }

var clients = map[string]client{
	"claude-code": {block: "mcpServers", typed: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.dir, ".mcp.json"), filepath.Join(p.home, ".claude.json")}
	}},
	"claude-desktop": {block: "mcpServers", literal: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.settings, "Claude", "claude_desktop_config.json")}
	}},
	"cursor": {block: "mcpServers", envOnly: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.dir, ".cursor", "mcp.json"), filepath.Join(p.home, ".cursor", "mcp.json")}
	}},
	"vscode": {block: "servers", typed: true, envOnly: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.dir, ".vscode", "mcp.json"), filepath.Join(p.settings, "Code", "User", "mcp.json")}
	}},
	"codex": {block: "mcp_servers", literal: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.home, ".codex", "config.toml")}
	}},
}

// Names returns the names of the clients that Move knows.
func Names() []string {
	return []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex"}
}

// Files returns where a client keeps its configuration, the file of the project in dir before
// that of the user. goos is a value of runtime.GOOS. Unknown clients and a missing home folder give
// none.
func Files(name, goos, dir string, env func(string) (string, bool)) []string {
	home, ok := config.HomeDir(env)
	c, known := clients[name]
	if !ok || !known {
		return nil
	}
	p := clientPaths{dir: dir, home: home, settings: filepath.Join(home, ".config")}
	switch goos {
	case "darwin":
		p.settings = filepath.Join(home, "Library", "Application Support")
	case "windows":
		p.settings = filepath.Join(home, "AppData", "Roaming")
		if appData, ok := env("APPDATA"); ok && appData != "" {
			p.settings = appData
		}
	default:
		if xdg, ok := env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(xdg) {
			p.settings = xdg
		}
	}
	if codex, ok := env("CODEX_HOME"); ok && name == "codex" && codex != "" {
		return []string{filepath.Join(codex, "config.toml")}
	}
	return c.files(p)
}
