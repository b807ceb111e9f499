package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrNotFound is wrapped by the error of Find when there is no configuration anywhere. It is also
// fs.ErrNotExist.
var ErrNotFound = fmt.Errorf("no configuration file found: %w", fs.ErrNotExist)

// PathVariable names the variable of the environment that holds the path of the configuration.
const PathVariable = "PROXY_DISPATCH_CONFIG"

var (
	hereNames = []string{"proxy-dispatch.yaml", "proxy-dispatch.yml", "proxy-dispatch.json"}
	userNames = []string{"proxy-dispatch.yaml", "proxy-dispatch.yml", "proxy-dispatch.json", "config.yaml", "config.yml", "config.json"}
)

// Find returns the path of the configuration: explicit if given, else $PROXY_DISPATCH_CONFIG, else
// the first of ./proxy-dispatch.yaml (.yml, .json) and the files in the user's configuration folder
// that exists. A path that was named is returned whether it exists or not, so that Load can say so.
func Find(explicit string, env func(string) (string, bool)) (string, error) {
	if explicit != "" {
		return explicit, nil
	}
	if path, _ := env(PathVariable); path != "" {
		return path, nil
	}
	looked := hereNames[:len(hereNames):len(hereNames)]
	for _, dir := range UserDirs(runtime.GOOS, env) {
		for _, name := range userNames {
			looked = append(looked, filepath.Join(dir, name))
		}
	}
	for _, path := range looked {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("look for configuration: %w", err)
		}
	}
	return "", fmt.Errorf("%w (looked for %s)", ErrNotFound, strings.Join(brief(looked), ", "))
}

// brief leaves one name per folder.
func brief(paths []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range paths {
		if dir := filepath.Dir(p); !seen[dir] {
			seen[dir] = true
			out = append(out, p)
		}
	}
	return out
}

// UserDirs returns the folders that may hold the user's configuration, the preferred one first.
// goos is a value of runtime.GOOS.
func UserDirs(goos string, env func(string) (string, bool)) []string {
	var dirs []string
	add := func(base string, ok bool, parts ...string) {
		if ok && base != "" {
			dirs = append(dirs, filepath.Join(append(append([]string{base}, parts...), "proxy-dispatch")...))
		}
	}
	home, hasHome := HomeDir(env)
	if goos == "windows" {
		appData, ok := env("APPDATA")
		add(appData, ok)
		return dirs
	}
	if xdg, ok := env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(xdg) {
		add(xdg, true)
	} else {
		add(home, hasHome, ".config")
	}
	if goos == "darwin" {
		add(home, hasHome, "Library", "Application Support")
	}
	return dirs
}

// HomeDir returns the user's home folder as the environment has it.
func HomeDir(env Env) (string, bool) {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := env(name); ok && home != "" {
			return home, true
		}
	}
	return "", false
}
