package script

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libquickjs"
	"modernc.org/quickjs"
)

//go:embed prelude.js
var prelude string

// compiled is the prelude as bytecode of this engine.
var compiled = sync.OnceValues(func() ([]byte, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	defer vm.Close()
	return vm.Compile(prelude, quickjs.EvalGlobal)
})

// machine is one world: an engine, the prelude in it, and nothing of any script yet. All that happens in it happens on
// a goroutine of its own, because the engine needs a large stack, which costs time to grow.
type machine struct {
	jobs chan func()

	vm     *quickjs.VM
	limit  int64
	glue   quickjs.Value // what the prelude returns
	settle quickjs.Value
	next   *int32 // the engine looks up when it has counted this down to 0
	ask    func(op string, id int, a, b string) error
	scope  string
	uses   int
}

// nobody is asked outside of a run.
func nobody(string, int, string, string) error { return ErrClosed }

// dwell does the jobs until the world is closed.
func (m *machine) dwell() {
	for f := range m.jobs {
		f()
	}
}

// build makes the world; fit, if not nil, puts more into it.
func (m *machine) build(l Limits, fit func(*machine) error) error {
	code, err := compiled()
	if err != nil {
		return fmt.Errorf("compile the prelude: %w", err)
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return fmt.Errorf("make a script engine: %w", err)
	}
	m.vm, m.limit, m.ask = vm, l.Memory, nobody
	vm.SetMemoryLimit(uintptr(l.Memory))
	vm.SetGCThreshold(uintptr(min(l.Memory/8, 4<<20))) // making the world alone passes the default
	m.next = countdown(vm)
	if err := vm.RegisterHostFunc("host", m.host); err != nil {
		return fmt.Errorf("offer the host: %w", err)
	}
	if m.glue, err = vm.EvalBytecodeValue(code); err != nil {
		return fmt.Errorf("run the prelude: %w", err)
	}
	if m.settle, err = m.member("settle"); err != nil || fit == nil {
		return err
	}
	return fit(m)
}

// countdown is where the engine counts down to its next look at whether it was interrupted. It looks every 10,000
// events, and an event can take long: so what interrupts it also sets the count to 0. The engine and the interrupter may
// write there at the same time; one of both is lost then, which is why an interruption is repeated.
func countdown(vm *quickjs.VM) *int32 {
	context := uintptr(reflect.ValueOf(vm).Elem().FieldByName("cContext").Uint())
	at := context + unsafe.Offsetof(libquickjs.TJSContext{}.Finterrupt_counter)
	return *(**int32)(unsafe.Pointer(&at)) // memory of the engine, which Go neither moves nor frees
}

// interrupt asks the engine to stop. It is called from any goroutine, repeatedly, until the run is over.
func (m *machine) interrupt() {
	m.vm.Interrupt()
	atomic.StoreInt32(m.next, 0)
}

// close has the world freed when its last job is done. It must not be interrupted any more.
func (m *machine) close() {
	m.jobs <- m.free
	close(m.jobs)
}

func (m *machine) free() {
	if m.vm == nil {
		return
	}
	for _, v := range []*quickjs.Value{&m.settle, &m.glue} {
		if v.VM() != nil {
			v.Free()
		}
	}
	_ = m.vm.Close() // it never fails
}

// host is the one Go function in the world. The prelude alone has it, and passes texts only.
func (m *machine) host(args []any) (any, error) {
	op, _ := args[0].(string)
	if op == "room" {
		m.vm.SetMemoryLimit(uintptr(m.limit + 1<<20))
		return nil, nil
	}
	id, _ := args[1].(int)
	a, _ := args[2].(string)
	b, _ := args[3].(string)
	return nil, m.ask(op, id, a, b)
}

// member is one of the functions the prelude returned. The caller frees it.
func (m *machine) member(name string) (quickjs.Value, error) {
	atom, err := m.vm.NewAtom(name)
	if err != nil {
		return quickjs.Value{}, fmt.Errorf("name %s: %w", name, err)
	}
	return m.glue.GetPropertyValue(atom)
}

// tell calls a function of the prelude.
func (m *machine) tell(name string, args ...any) (any, error) {
	f, err := m.member(name)
	if err != nil {
		return nil, err
	}
	defer f.Free()
	v, err := f.Call(quickjs.UndefinedValue, args...)
	return v, engineError(err)
}

// begin readies the world for a run.
func (m *machine) begin(ask func(op string, id int, a, b string) error) {
	m.ask = ask
	m.vm.SetMemoryLimit(uintptr(m.limit)) // the end of an earlier run may have been given more
}

func (m *machine) run(code string) error {
	_, err := m.tell("run", code)
	return err
}

func (m *machine) call(export string, args json.RawMessage) error {
	_, err := m.tell("call", export, string(args), hasLarge(args))
	return err
}

// settled gives a promise its outcome.
func (m *machine) settled(id int, value json.RawMessage, failure error) error {
	text, ok := value, failure == nil
	if !ok {
		text = thrown(failure)
	}
	_, err := m.settle.Call(quickjs.UndefinedValue, id, ok, string(text), ok && hasLarge(text))
	return engineError(err)
}

// drain runs what can go on without the host. The engine gives up after a million jobs; whether more time is to be
// spent on them is for the run's clock to say.
func (m *machine) drain() error {
	for {
		_, err := m.vm.ExecutePendingJobs()
		if _, thrown := errors.AsType[*quickjs.Error](err); err == nil || thrown {
			return engineError(err)
		}
	}
}

// thrown is what a failure of the host looks like to the prelude.
func thrown(err error) json.RawMessage {
	var t struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	t.Message = err.Error()
	if e, ok := errors.AsType[interface {
		error
		Properties() json.RawMessage
	}](err); ok && json.Valid(e.Properties()) {
		t.Data = e.Properties()
	}
	text, _ := json.Marshal(t) // can't fail: a text and valid JSON
	return text
}

// engineError tells the engine's own failures apart.
func engineError(err error) error {
	e, ok := errors.AsType[*quickjs.Error](err)
	if !ok {
		return err
	}
	return scriptError(e.Name, e.Message, e.Stack)
}

// errInterrupted is an engine that was told to stop; the run's context says why.
var errInterrupted = errors.New("interrupted")

// position finds the line in the uppermost frame of code that came as text.
var position = regexp.MustCompile(`<(?:input|anonymous)>:(\d+)`)

// wrapped is how many lines the engine puts before the body of a function that comes as text.
const wrapped = 2

func scriptError(name, message, stack string) error {
	if name == "InternalError" || name == "" {
		switch message {
		case "out of memory":
			return ErrMemory
		case "interrupted":
			return errInterrupted
		}
	}
	e := &Error{Name: name, Message: message, Stack: stack}
	if at := position.FindStringSubmatch(stack); at != nil {
		n, _ := strconv.Atoi(at[1])
		e.Line = max(n-wrapped, 0)
	}
	return e
}

// hasLarge reports whether JSON may hold an integer that a double can't: 16 digits in a row.
func hasLarge(raw []byte) bool {
	run := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			run = 0
			continue
		}
		if run++; run == 16 {
			return true
		}
	}
	return false
}
