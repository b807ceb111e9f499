package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/quickjs"
)

const (
	maxSource = 4 << 20 // bytes of one file

	maxFiles = 100             // that one module imports
	loading  = 5 * time.Second // how long a module may take to run once
)

// Module is a file of JavaScript with exports, and the files beside and below it that it imports. It is read once, by
// Load. Making a world costs more than most calls: calls of the same Host.Scope may find the variables of the module as
// an earlier one left them, or may not; calls of different scopes never share a world. It is safe for concurrent use;
// Close ends it.
type Module struct {
	shop  *shop
	file  string
	names string // what is imported first

	mu    sync.Mutex
	files map[string]string // by slash path under the module's folder
	sound bool              // all imports were read: no file is opened any more
}

// Load reads a module with the default limits and runs it once to see that it can be.
func Load(file string) (*Module, error) { return Limits{}.Load(file) }

// Load reads a module that is held to these limits. The error is fs.ErrNotExist where there is no such file, and an
// *Error with the line where it is no module.
func (l Limits) Load(file string) (*Module, error) {
	m := &Module{file: file, names: filepath.Base(file), files: map[string]string{}}
	m.shop = newShop(l.withDefaults(), m.fit)
	if _, err := m.source(m.names); err != nil {
		return nil, fmt.Errorf("load module %s: %w", file, err)
	}
	first, err := m.shop.make()
	if err != nil {
		return nil, fmt.Errorf("load module %s: %w", file, err)
	}
	m.mu.Lock()
	m.sound = true
	m.mu.Unlock()
	m.shop.shelf <- first
	return m, nil
}

// Call calls an exported function (of an exported object its member run, handler or call) with args, each JSON, and
// the object {call, search, read, progress, log, tools} behind them, and gives what it returns as JSON; nil where that
// is nothing. A nil Host offers nothing. Errors are those of Runner.Run; ErrNoExport for a name that is not exported.
func (m *Module) Call(ctx context.Context, export string, h Host, args ...json.RawMessage) (json.RawMessage, error) {
	list := []byte{'['}
	for i, a := range args {
		if i > 0 {
			list = append(list, ',')
		}
		if len(a) == 0 {
			a = json.RawMessage("null")
		}
		list = append(list, a...)
	}
	list = append(list, ']')
	if most := m.shop.limits.MaxValue(); int64(len(list)) > most {
		return nil, fmt.Errorf("arguments of %d bytes, a script takes %d: %w", len(list), most, ErrMemory)
	}
	if h == nil {
		h = Closed{}
	}
	return m.shop.do(ctx, h, h.Scope(), func(w *machine) error { return w.call(export, list) })
}

// Export says what an export is.
type Export struct {
	Kind         string          `json:"kind"`     // "function", "object", …; "none" where there is no such export
	Callable     bool            `json:"callable"` // Call can call it
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// Describe says what an export is, with the name, description and schemas that stand at it, or else that the module
// exports beside it. The error is ErrNoExport for a name that is not exported.
func (m *Module) Describe(export string) (Export, error) {
	var out Export
	w, err := m.shop.take()
	if err != nil {
		return out, err
	}
	defer w.close()
	said, err := w.tell("describe", export)
	if err != nil {
		return out, fmt.Errorf("describe %s#%s: %w", m.file, export, err)
	}
	text, _ := said.(string)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("describe %s#%s: %w", m.file, export, err)
	}
	if out.Kind == "none" {
		return out, fmt.Errorf("%s#%s: %w", m.file, export, ErrNoExport)
	}
	return out, nil
}

// Close waits for the calls under way and frees what is kept ready.
func (m *Module) Close() error { return m.shop.close() }

// fit runs the module in a new world.
func (m *Module) fit(w *machine) error {
	w.vm.SetModuleLoader(func(_ *quickjs.VM, name string) (string, error) { return m.source(name) },
		func(_ *quickjs.VM, from, name string) (string, error) { return beside(from, name) })
	take, err := w.member("take")
	if err != nil {
		return err
	}
	defer take.Free()
	atom, err := w.vm.NewAtom("take")
	if err != nil {
		return err
	}
	global := w.vm.GlobalObject()
	defer global.Free()
	if err := global.SetPropertyValue(atom, take); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), loading, ErrTimeout)
	defer cancel()
	over := w.stopWith(ctx)
	defer over()
	name, _ := json.Marshal(m.names)
	promise, err := w.vm.EvalValue("import * as all from "+string(name)+"; const take = globalThis.take; delete globalThis.take; take(all)", quickjs.EvalModule)
	if err == nil {
		defer promise.Free()
		err = w.loaded(promise)
	}
	if err != nil && ctx.Err() != nil { // whatever that looked like
		return context.Cause(ctx)
	}
	return engineError(err)
}

// source gives the text of a file of the module.
func (m *Module) source(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text, ok := m.files[name]; ok {
		return text, nil
	}
	if m.sound || len(m.files) >= maxFiles {
		return "", fmt.Errorf("import %s: only what the module imports when it is loaded is there: %w", name, fs.ErrNotExist)
	}
	root, err := os.OpenRoot(filepath.Dir(m.file))
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxSource {
		return "", fmt.Errorf("%s has more than %d bytes", name, maxSource)
	}
	m.files[name] = string(text)
	return string(text), nil
}

// beside is the file that an import of name in the file from means.
func beside(from, name string) (string, error) {
	if !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") {
		if !strings.ContainsAny(name, "/:") && from == "<eval>" {
			return name, nil // our own import of the module
		}
		return "", fmt.Errorf("import %q: a module imports files beside it, by ./NAME.js", name)
	}
	return path.Join(path.Dir(from), name), nil
}

// loaded says whether the promise of a module's evaluation came to a good end.
func (m *machine) loaded(promise quickjs.Value) error {
	var failure error
	settled := false
	chained, err := promise.Then(func(quickjs.Value) { settled = true }, func(v quickjs.Value) {
		settled = true
		e := quickjs.ErrorFromValue(v)
		failure = scriptError(e.Name, e.Message, e.Stack)
	})
	if err != nil {
		return engineError(err)
	}
	defer chained.Free()
	if err := m.drain(); err != nil {
		return err
	}
	if !settled {
		return errors.New("the module waits for something at its top level")
	}
	return failure
}

var errDotted = errors.New("want FILE.js#EXPORT or folder.file.export")

// Split reads what names an export: FILE.js#EXPORT, FILE.js for its default export, or a dotted path, in which the last
// word is the export and those before it the file: hooks.redis.pre_call is pre_call of hooks/redis.js. The file is a
// slash path as written.
func Split(ref string) (file, export string, err error) {
	if file, export, ok := strings.Cut(ref, "#"); ok {
		if file == "" || export == "" {
			return "", "", fmt.Errorf("%q: %w", ref, errDotted)
		}
		return file, export, nil
	}
	if ext := path.Ext(ref); ext == ".js" || ext == ".mjs" {
		return ref, "default", nil
	}
	words := strings.Split(ref, ".")
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, `/\`) {
			return "", "", fmt.Errorf("%q: %w", ref, errDotted)
		}
	}
	if len(words) < 2 {
		return "", "", fmt.Errorf("%q: %w", ref, errDotted)
	}
	return strings.Join(words[:len(words)-1], "/") + ".js", words[len(words)-1], nil
}
