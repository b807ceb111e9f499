package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("looks under APPDATA instead")
	}
	for _, tt := range []struct {
		name, explicit string
		env            map[string]string
		files          []string
		want           string
	}{
		{name: "named", explicit: "x.yaml", files: []string{"proxy-dispatch.yaml"}, want: "x.yaml"},
		{name: "named by the environment", env: map[string]string{PathVariable: "y.yaml"}, files: []string{"proxy-dispatch.yaml"}, want: "y.yaml"},
		{name: "here", files: []string{"proxy-dispatch.json", "proxy-dispatch.yml", "home/.config/proxy-dispatch/config.yaml"}, want: "proxy-dispatch.yml"},
		{name: "the user's", files: []string{"home/.config/proxy-dispatch/config.yaml"}, want: "home/.config/proxy-dispatch/config.yaml"},
		{name: "nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			for _, f := range tt.files {
				if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := func(k string) (string, bool) {
				if k == "HOME" {
					return filepath.Join(dir, "home"), true
				}
				v, ok := tt.env[k]
				return v, ok
			}
			got, err := Find(tt.explicit, env)
			if tt.want == "" {
				if !errors.Is(err, ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if rel, e := filepath.Rel(dir, got); e == nil && filepath.IsAbs(got) {
				got = rel
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestUserDirs(t *testing.T) {
	for _, tt := range []struct {
		goos, env string
		want      []string
	}{
		{"linux", "", []string{"/home/me/.config/proxy-dispatch"}},
		{"linux", "XDG_CONFIG_HOME=/xdg\n", []string{"/xdg/proxy-dispatch"}},
		{"darwin", "", []string{"/home/me/.config/proxy-dispatch", "/home/me/Library/Application Support/proxy-dispatch"}},
		{"windows", "APPDATA=/app\n", []string{"/app/proxy-dispatch"}},
	} {
		if diff := cmp.Diff(tt.want, UserDirs(tt.goos, environment(tt.env))); diff != "" {
			t.Errorf("%s %s: %s", tt.goos, tt.env, diff)
		}
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.yaml")
	if _, err := Load(path, environment("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if _, err := Load(dir, environment("")); err == nil {
		t.Error("a folder was loaded")
	}
	if err := os.WriteFile(path, []byte("mcpServers: {a: {command: x}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, environment(""))
	if err != nil || len(c.Servers) != 1 || c.Path != path {
		t.Errorf("got %+v, %v", c, err)
	}
}

// TestServerID says what makes a server another one.
func TestServerID(t *testing.T) {
	id := func(entry string) string {
		c, err := Parse("c.yaml", []byte("mcpServers: {"+entry+"}"), environment("V=value\n"))
		if err != nil {
			t.Fatal(err)
		}
		return c.Servers[0].ID
	}
	base := id("a: {command: x, args: [b, c], env: {K: v}}")
	for entry, same := range map[string]bool{
		"a: {args: [b, c], command: x, env: {K: v}, description: d, lazy: true, timeout: 5s, readOnly: true, disabled: true}": true,
		"b: {command: x, args: [b, c], env: {K: v}}":                   false,
		"a: {command: x, args: [bc], env: {K: v}}":                     false,
		"a: {command: x, args: [b, c], env: {K: w}}":                   false,
		"a: {command: x, args: [b, c], env: {K: v}, cwd: /tmp}":        false,
		"a: {command: x, args: [b, c], env: {K: \"${V}\"}}":            false,
		"a: {url: \"http://h/\", headers: {K: v}}":                     false,
		"a: {command: x, args: [b, c], env: {K: v}, protocol: legacy}": false,
	} {
		if got := id(entry); (got == base) != same {
			t.Errorf("%s: same ID is %v, want %v", entry, got == base, same)
		}
	}
}
