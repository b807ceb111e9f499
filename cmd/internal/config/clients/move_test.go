package clients

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// TestMove runs every archive of testdata/init: the client's file, optionally ours, and what both
// become. The archive's name is the client's, up to the first underscore.
func TestMove(t *testing.T) {
	archives, _ := filepath.Glob("testdata/init/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			client, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".txtar"), "_")
			move := Move{Client: client, Binary: "/bin/proxy-dispatch", Config: "/conf/proxy-dispatch.yaml"}
			want := map[string]string{}
			for _, f := range a.Files {
				switch {
				case f.Name == "ours.yaml":
					move.Ours = f.Data
				case strings.HasPrefix(f.Name, "want "):
					want[f.Name] = string(f.Data)
				default:
					move.Path, move.File = f.Name, f.Data
				}
			}
			got := moved(t, move)
			if *update {
				for _, part := range []string{"want file", "want ours", "want words"} {
					a.Files = set(a.Files, part, got[part])
				}
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func set(files []txtar.File, name, data string) []txtar.File {
	for i := range files {
		if files[i].Name == name {
			files[i].Data = []byte(data)
			return files
		}
	}
	return append(files, txtar.File{Name: name, Data: []byte(data)})
}

// moved runs a move, and once more over its outcome, which must change nothing.
func moved(t *testing.T, m Move) map[string]string {
	t.Helper()
	out, err := m.Run()
	if err != nil {
		return map[string]string{"want file": "", "want ours": "", "want words": err.Error() + "\n"}
	}
	again := m
	again.File, again.Ours = out.File, out.Ours
	second, err := again.Run()
	if err != nil {
		t.Fatalf("second run: %v", err)
	}
	if diff := cmp.Diff(string(out.File), string(second.File)); diff != "" {
		t.Errorf("the second run changed the client's file: %s", diff)
	}
	if diff := cmp.Diff(string(out.Ours), string(second.Ours)); diff != "" || len(second.Now) > 0 {
		t.Errorf("the second run changed our file: %s", diff)
	}
	words := "now: " + strings.Join(out.Now, ", ") + "\nkept: " + strings.Join(out.Kept, "; ") + "\ndropped: " + strings.Join(out.Dropped, ", ") + "\n"
	return map[string]string{"want file": string(out.File), "want ours": string(out.Ours), "want words": words}
}

func TestMoveErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		move Move
		want string
		is   error
	}{
		{"an unknown client", Move{Client: "cursr"}, `unknown client "cursr"; did you mean "cursor"?`, ErrUnknown},
		{"a broken file", Move{Client: "cursor", Path: "mcp.json", File: []byte("{")}, "mcp.json:1: not valid JSON: parsing value: unexpected EOF (column 2)", nil},
		{"an entry of ours for another file", Move{Client: "cursor", Path: "mcp.json", File: []byte(`{"mcpServers":{"proxy-dispatch":{"command":"x"}}}`), Config: "c.yaml"},
			"move servers of mcp.json: there is already an entry proxy-dispatch with another configuration", ErrTaken},
		{"inline tables", Move{Client: "codex", Path: "config.toml", File: []byte("mcp_servers.a = {command = \"x\"}\n"), Config: "c.yaml"},
			"config.toml:1: mcp_servers.a is written inline: write it as a table [mcp_servers.a] first", nil},
		{"ours in JSON", Move{Client: "cursor", Path: "mcp.json", File: []byte(`{"mcpServers":{"a":{"command":"x"}}}`), Config: "c.json"},
			"add servers to c.json: only YAML files can be added to", nil},
		{"a server that does not fit", Move{Client: "cursor", Path: "mcp.json", File: []byte(`{"mcpServers":{"a":{"args":["x"]}}}`), Config: "c.yaml"},
			"servers of mcp.json do not fit our configuration: c.yaml:3: server \"a\" is empty: it needs command, url or builtin", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.move.Run()
			if err == nil || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is not %v", err, tt.is)
			}
		})
	}
}

func TestClientFiles(t *testing.T) {
	for _, tt := range []struct {
		name, client, goos string
		env                string
		want               []string
	}{
		{"project before user", "claude-code", "linux", "", []string{"/p/.mcp.json", "/home/me/.claude.json"}},
		{"linux", "claude-desktop", "linux", "", []string{"/home/me/.config/Claude/claude_desktop_config.json"}},
		{"xdg", "vscode", "linux", "XDG_CONFIG_HOME=/xdg", []string{"/p/.vscode/mcp.json", "/xdg/Code/User/mcp.json"}},
		{"darwin", "claude-desktop", "darwin", "", []string{"/home/me/Library/Application Support/Claude/claude_desktop_config.json"}},
		{"windows", "claude-desktop", "windows", "APPDATA=/app", []string{"/app/Claude/claude_desktop_config.json"}},
		{"cursor", "cursor", "linux", "", []string{"/p/.cursor/mcp.json", "/home/me/.cursor/mcp.json"}},
		{"codex", "codex", "linux", "", []string{"/home/me/.codex/config.toml"}},
		{"codex elsewhere", "codex", "linux", "CODEX_HOME=/cx", []string{"/cx/config.toml"}},
		{"unknown", "emacs", "linux", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			variable, value, _ := strings.Cut(tt.env, "=")
			environment := func(name string) (string, bool) {
				if name == "HOME" {
					return "/home/me", true
				}
				return value, name == variable
			}
			if diff := cmp.Diff(tt.want, Files(tt.client, tt.goos, "/p", environment)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzMove checks that no client's file makes it panic, and that what it writes can be read.
func FuzzMove(f *testing.F) {
	archives, _ := filepath.Glob("testdata/init/*.txtar")
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if file.Name != "ours.yaml" && !strings.HasPrefix(file.Name, "want") {
				f.Add(strings.HasSuffix(file.Name, ".toml"), file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, toml bool, data []byte) {
		m := Move{Client: "claude-code", Path: "mcp.json", File: data, Binary: "/b", Config: "/c.yaml"}
		if toml {
			m.Client, m.Path = "codex", "config.toml"
		}
		out, err := m.Run()
		if err != nil {
			return
		}
		if n, faults := notation.Parse(m.Path, out.File); n == nil || len(faults) > 0 {
			t.Fatalf("the client's new file does not parse: %v\n%s", faults, out.File)
		}
		m.File, m.Ours = out.File, out.Ours
		if again, err := m.Run(); err != nil || len(again.Now) > 0 {
			t.Fatalf("second run moves %v, %v\n%s", again, err, m.File)
		}
	})
}
