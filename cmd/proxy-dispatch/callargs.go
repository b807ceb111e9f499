package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// maxArguments is the most bytes of an arguments file.
const maxArguments = 64 << 20

// parseCall reads the words after `call`.
func parseCall(words []string) (*callLine, error) {
	l := &callLine{}
	for i := 0; i < len(words); i++ {
		word := words[i]
		value := func() (string, error) {
			if i++; i >= len(words) {
				return "", usage("%s needs a value", word)
			}
			return words[i], nil
		}
		switch {
		case word == "--":
			return l, l.toolWords(words[i+1:])
		case word == "-a" || word == "--arg":
			v, err := value()
			if err != nil {
				return nil, err
			}
			if err := l.assign(v); err != nil {
				return nil, err
			}
		case word == "-h":
			l.help = true
		case word == "-v":
			l.verbose = true
		case strings.HasPrefix(word, "--"):
			mine, err := l.flag(word, value)
			if err != nil {
				return nil, err
			}
			if !mine {
				if i, err = l.toolFlag(words, i); err != nil {
					return nil, err
				}
			}
		default:
			if err := l.plain(word); err != nil {
				return nil, err
			}
		}
	}
	if l.tool == "" && !l.help {
		return nil, usage("call needs a TOOL\nSee `proxy-dispatch call --help`.")
	}
	return l, nil
}

// flag reads a flag of this program; mine is false if it is none.
func (l *callLine) flag(word string, next func() (string, error)) (mine bool, err error) {
	name, value, given := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	if set, ok := map[string]*bool{"json": &l.json, "spill": &l.spill, "dry-run": &l.dryRun, "verbose": &l.verbose, "help": &l.help}[name]; ok {
		if given && value != "true" && value != "false" {
			return true, usage("--%s is true or false", name)
		}
		*set = value != "false"
		return true, nil
	}
	texts := map[string]*string{"server": &l.server, "view": &l.view, "config": &l.config, "type": (*string)(&l.kind), "timeout": nil}
	text, ok := texts[name]
	if !ok {
		return false, nil
	}
	if !given {
		if value, err = next(); err != nil {
			return true, err
		}
	}
	if text != nil {
		*text = value
		return true, nil
	}
	if l.timeout, err = time.ParseDuration(value); err != nil || l.timeout <= 0 {
		return true, usage("--timeout is a duration such as 30s, not %q", value)
	}
	return true, nil
}

// toolFlag reads the flag at i as an argument of the tool and returns the position of its last word.
func (l *callLine) toolFlag(words []string, i int) (int, error) {
	word := strings.TrimPrefix(words[i], "--")
	if strings.Contains(word, "=") {
		return i, l.assign(word)
	}
	if i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") && words[i+1] != "-a" {
		return i + 1, l.assign(word + "=" + words[i+1])
	}
	return i, l.assign(word + ":=true")
}

// toolWords reads what follows --.
func (l *callLine) toolWords(words []string) (err error) {
	for i := 0; i < len(words) && err == nil; i++ {
		if strings.HasPrefix(words[i], "--") && words[i] != "--" {
			i, err = l.toolFlag(words, i)
		} else {
			err = l.plain(words[i])
		}
	}
	return err
}

// plain reads a word that is no flag: the tool, then the whole arguments or KEY=VALUE.
func (l *callLine) plain(word string) error {
	switch {
	case l.tool == "":
		if word == "" {
			return usage("the name of the tool is empty")
		}
		l.tool = word
	case strings.HasPrefix(word, "{") || strings.HasPrefix(word, "@"):
		if l.whole != "" {
			return usage("arguments are given twice")
		}
		l.whole = word
	default:
		return l.assign(word)
	}
	return nil
}

// assign reads KEY=VALUE or KEY:=JSON.
func (l *callLine) assign(word string) error {
	key, value, ok := strings.Cut(word, "=")
	if !ok || key == "" || key == ":" {
		return usage("%q is neither a JSON object, @FILE nor KEY=VALUE", word)
	}
	arg := keyValue{key: key, value: value}
	if bare, isRaw := strings.CutSuffix(key, ":"); isRaw {
		if !json.Valid([]byte(value)) {
			return usage("the value of %s is not JSON", bare)
		}
		arg = keyValue{key: bare, value: value, raw: true}
	}
	l.single = append(l.single, arg)
	return nil
}

// arguments puts the JSON object of the command line together; stdin is read for @-.
func (l *callLine) arguments(stdin io.Reader) (json.RawMessage, error) {
	whole := json.RawMessage(l.whole)
	if name, isFile := strings.CutPrefix(l.whole, "@"); isFile {
		data, err := readArguments(name, stdin)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		whole = data
	}
	var o arguments.Object
	if l.whole != "" {
		var err error
		if o, err = arguments.ParseObject(whole); err != nil {
			if errors.Is(err, arguments.ErrNotObject) {
				err = errors.New("they are not a JSON object")
			}
			return nil, usage("arguments: %w", err)
		}
	}
	for key, values := range grouped(l.single) {
		raw := values[0]
		if len(values) > 1 {
			raw = "[" + strings.Join(values, ",") + "]"
		}
		o = o.Set(key, json.RawMessage(raw))
	}
	return o.Raw(), nil
}

// grouped yields each key once, in order, with its values as JSON.
func grouped(list []keyValue) func(yield func(string, []string) bool) {
	return func(yield func(string, []string) bool) {
		done := map[string]bool{}
		for i, arg := range list {
			if done[arg.key] {
				continue
			}
			done[arg.key] = true
			var values []string
			for _, other := range list[i:] {
				if other.key == arg.key {
					values = append(values, other.json())
				}
			}
			if !yield(arg.key, values) {
				return
			}
		}
	}
}

func (kv keyValue) json() string {
	if kv.raw {
		return kv.value
	}
	return string(rawjson.Quote(kv.value))
}

func readArguments(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
	if err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	if len(data) > maxArguments {
		return nil, fmt.Errorf("read arguments: more than %d bytes", maxArguments)
	}
	return data, nil
}
