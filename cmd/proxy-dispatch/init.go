package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/clients"
	"github.com/proxy-dispatch/proxy-dispatch/wholefile"
)

// starter is the configuration of a first try; everything in it runs on any machine.
const starter = `# proxy-dispatch: the servers behind the one tool. See what is in force with: proxy-dispatch config --resolved
mcpServers:
  dataset: # a made-up table of any size, in this binary
    builtin: dataset
    description: A table of orders to try things on
  # files:
  #   command: npx
  #   args: [-y, "@modelcontextprotocol/server-filesystem", /home/me/work]
  # github:
  #   url: https://api.githubcopilot.com/mcp/
  #   headers:
  #     Authorization: Bearer ${GITHUB_TOKEN}
  #   lazy: true # starts at its first call
  #   tools:
  #     deny: ["delete_*"]

# spill:
#   threshold: 16384 # bytes of a result that an agent gets inline
# allowedRoots: [/home/me/work] # folders that the builtin utils and file arguments may touch
`

func (c *console) initCommand() *cobra.Command {
	var write bool
	var file string
	names := clients.Names()
	cmd := &cobra.Command{
		Use:   "init config|hooks|" + strings.Join(names, "|"),
		Short: "Write a first configuration, or move a client's servers behind the proxy",
		Long: `init config prints a first configuration; --write puts it where proxy-dispatch looks for it.

init hooks writes hooks/example.js beside the configuration: two hooks and a custom tool to start from.

init CLIENT prints the client's own configuration as it would be with its servers behind the proxy.
--write moves the servers into our configuration, puts proxy-dispatch in their place, leaves everything
else in the client's file, and keeps a copy of the file as it was.`,
		Example: `  proxy-dispatch init config --write
  proxy-dispatch init hooks
  proxy-dispatch init claude-code
  proxy-dispatch init cursor --write
  proxy-dispatch init vscode --file .vscode/mcp.json --write`,
		ValidArgs: append([]string{"config", "hooks"}, names...),
		Args:      cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch what := args[0]; {
			case what == "config":
				return c.initConfig(write)
			case what == "hooks":
				return c.initHooks()
			case slices.Contains(names, what):
				return c.initClient(what, file, write)
			default:
				return usage("init knows config, hooks, %s, not %q", strings.Join(names, ", "), what)
			}
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "change the files instead of printing")
	cmd.Flags().StringVar(&file, "file", "", "the client's configuration file (default: its usual place)")
	return cmd
}

// ourFile is the configuration that init writes: the one named, the one in use, or a new one in the
// user's configuration folder.
func (c *console) ourFile() (string, error) {
	path, err := config.Find(c.configPath, c.env)
	if err == nil {
		return path, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	dirs := config.UserDirs(runtime.GOOS, c.env)
	if len(dirs) == 0 {
		return "", usage("there is no folder for the user's configuration; name a file with --config")
	}
	return filepath.Join(dirs[0], "proxy-dispatch.yaml"), nil
}

func (c *console) initConfig(write bool) error {
	if !write {
		_, err := fmt.Fprint(c.out, starter)
		return err
	}
	path, err := c.ourFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there already", path)
	}
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if _, err = f.WriteString(starter); err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return c.show("%s", path)
}

func (c *console) initClient(name, file string, write bool) error {
	var err error
	if file == "" {
		if file, err = c.clientFile(name); err != nil {
			return err
		}
	}
	ours, err := c.ourFile()
	if err != nil {
		return err
	}
	if ours, err = filepath.Abs(ours); err != nil {
		return err
	}
	m := clients.Move{Client: name, Path: file, Config: ours, Binary: command()}
	if m.File, err = readIfThere(file); err != nil {
		return err
	}
	if m.Ours, err = readIfThere(ours); err != nil {
		return err
	}
	c.hideSecrets(file, m.File)
	moved, err := m.Run()
	if err != nil {
		return err
	}
	c.sayMoved(moved, write)
	if !write {
		c.say("%s would become what follows; our own configuration is %s. --write does it.", file, ours)
		_, err := c.out.Write([]byte(c.redact(string(moved.File))))
		return err
	}
	return c.writeMoved(m, moved)
}

// writeMoved writes our own file first, so that no server is lost, then the client's.
func (c *console) writeMoved(m clients.Move, moved *clients.Moved) error {
	if _, err := config.Parse(m.Config, moved.Ours, c.env); err != nil {
		return fmt.Errorf("nothing was changed: our configuration would not be sound:\n%w", err)
	}
	for _, f := range []struct {
		path     string
		old, new []byte
	}{{m.Config, m.Ours, moved.Ours}, {m.Path, m.File, moved.File}} {
		if bytes.Equal(f.old, f.new) {
			continue
		}
		backup, err := replaceFile(f.path, f.new)
		if err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
		if err := c.show("%s", f.path); err != nil {
			return err
		}
		if backup != "" {
			c.say("%s as it was: %s", f.path, backup)
		}
	}
	c.say("Check with: proxy-dispatch validate --config %s", shellQuote(m.Config))
	return nil
}

// clientFile is the client's file that is there, else the one it would make for its user.
func (c *console) clientFile(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	files := clients.Files(name, runtime.GOOS, dir, c.env)
	if len(files) == 0 {
		return "", usage("there is no home folder; name the client's file with --file")
	}
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			return f, nil
		}
	}
	return files[len(files)-1], nil
}

// hideSecrets keeps the secrets of a client's file, sound or not, out of what is said and printed.
func (c *console) hideSecrets(path string, text []byte) {
	c.redact = config.RedactorOf(path, text, c.env).Redact
}

func (c *console) sayMoved(m *clients.Moved, write bool) {
	would := "would move"
	if write {
		would = "moved"
	}
	if len(m.Now) == 0 {
		c.say("No server to move.")
	} else {
		c.say("%s behind the proxy: %s", would, strings.Join(m.Now, ", "))
	}
	for _, k := range m.Kept {
		c.say("stays with the client: %s", k)
	}
	for _, d := range m.Dropped {
		c.say("has no meaning for us and is dropped: %s", d)
	}
}

func readIfThere(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// command is how others start this program.
func command() string {
	self, err := os.Executable()
	if err != nil {
		return "proxy-dispatch"
	}
	return self
}

// replaceFile puts text in the place of a file whole and returns the name of the copy of what was there.
func replaceFile(file string, text []byte) (backup string, err error) {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
		if backup, err = copyAside(file, mode); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return backup, writeWhole(file, text, mode)
}

// writeWhole puts text in the place of a file in one step, so that nobody reads half of it.
func writeWhole(file string, text []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a link, as dotfile managers make them, stays one
	}
	return wholefile.Write(file, text, mode)
}

// copyAside copies a file beside itself under a name that is free.
func copyAside(file string, mode fs.FileMode) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		name := file + ".backup"
		if n > 1 {
			name = fmt.Sprintf("%s.backup%d", file, n)
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(text)
		return name, errors.Join(err, f.Close())
	}
}
