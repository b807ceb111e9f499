package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
)

// exampleHooks is what init hooks writes.
//
//go:embed example.js
var exampleHooks string

const exampleUse = `# In the configuration:
views:
  example:
    include_all: true
    hooks:
      pre_call: hooks.example.pre_call
      post_call: hooks.example.post_call
    custom_tools:
      - module: hooks.example.everywhere
`

// initHooks writes the example beside the configuration in use, or here where there is none.
func (c *console) initHooks() error {
	dir := "."
	path, err := config.Find(c.configPath, c.env)
	switch {
	case err == nil:
		dir = filepath.Dir(path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	file := filepath.Join(dir, "hooks", "example.js")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write hooks: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there already", file)
	}
	if err != nil {
		return fmt.Errorf("write hooks: %w", err)
	}
	if _, err = f.WriteString(exampleHooks); err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("write hooks: %w", err)
	}
	if err := c.show("%s", file); err != nil {
		return err
	}
	return c.show("%s", exampleUse)
}
