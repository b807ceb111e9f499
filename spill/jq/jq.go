// Package jq runs jq programs over JSON within bounds of time, steps, memory and output.
package jq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/itchyny/gojq"

	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
)

// A jq program comes from outside and may be written badly or to harm. It sees its data and nothing else, and it is
// stopped when it runs too long, takes too many steps, makes the heap grow too much or gives too much. The heap is the
// process's: a stop may come early while others need memory too, never late by more than one operation of the program.

const (
	maxProgram = 4000              // bytes of a jq program
	maxSteps   = 4 << 30           // of its machine
	maxOutputs = 1 << 20           // values it gives
	largeData  = 16 << 20          // bytes of data after which the heap is cleared at once
	heapSlack  = 96 << 20          // bytes the heap may grow while it runs,
	heapFactor = 12                // and so many times its data
	heapEvery  = time.Second / 200 // how often that is looked at
)

// outside are the functions that reach beyond the data, or end the process that runs them.
var outside = []string{"env", "$ENV", "input", "inputs", "input_line_number", "input_filename", "debug", "stderr",
	"halt", "halt_error", "modulemeta", "get_search_list", "$__prog_args"}

// program compiles a jq program, and says what it needs of its data.
func program(source string) (*gojq.Code, *need, error) {
	if len(source) > maxProgram {
		return nil, nil, fmt.Errorf("%w: jq: %d bytes, at most %d", fault.ErrBadQuery, len(source), maxProgram)
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: jq: %w", fault.ErrBadQuery, placed(source, err))
	}
	if name := reaches(reflect.ValueOf(query)); name != "" {
		return nil, nil, fmt.Errorf("%w: jq: %s is not available: a program sees its data and nothing else", fault.ErrBadQuery, name)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: jq: %w", fault.ErrBadQuery, err)
	}
	return code, needsOf(query), nil
}

// placed adds to a syntax error where it is.
func placed(source string, err error) error {
	fault, ok := errors.AsType[*gojq.ParseError](err)
	if !ok {
		return err
	}
	at := min(max(fault.Offset-len(fault.Token), 0), len(source))
	return fmt.Errorf("%w at %q (offset %d)", err, brief.Clip(source[at:], 40), at)
}

// reaches names what in a program reaches beyond its data.
func reaches(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		switch x := v.Interface().(type) {
		case *gojq.Func:
			if slices.Contains(outside, x.Name) {
				return x.Name
			}
		case *gojq.Import:
			return "import"
		}
		return reaches(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if name := reaches(v.Index(i)); name != "" {
				return name
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := reaches(v.Field(i)); name != "" {
				return name
			}
		}
	}
	return ""
}

// Options bound a run. The zero value works.
type Options struct {
	Time time.Duration // default 10s
	Size int           // bytes of the outcome; default 256 MiB
}

// Check refuses a program that cannot be compiled or reaches beyond its data: fault.ErrBadQuery.
func Check(source string) error {
	_, _, err := program(source)
	return err
}

// Run runs a program over data, valid JSON, and returns the value it gives: of several a list. None is fault.ErrNoMatch.
// data is called once, or twice where a program fails: what it says of its data must not depend on what it needs.
func Run(ctx context.Context, source string, data func() (string, error), o Options) ([]byte, error) {
	o.Time, o.Size = cmp.Or(o.Time, 10*time.Second), cmp.Or(o.Size, 256<<20)
	code, n, err := program(source)
	if err != nil {
		return nil, err
	}
	text, err := data()
	if err != nil {
		return nil, err
	}
	out, err := run(ctx, source, code, text, n, o)
	if errors.Is(err, errProgram) && !n.whole {
		if text, err = data(); err == nil {
			out, err = run(ctx, source, code, text, everything, o)
		}
	}
	return out, err
}

// run is one run of a program over what it needs of its data.
func run(ctx context.Context, source string, code *gojq.Code, data string, n *need, o Options) ([]byte, error) {
	m := meter(ctx, o.Time, int64(len(data)))
	defer m.stop()
	if len(data) > largeData {
		defer runtime.GC() // what it took is several times the data: the next one must not come on top of that
	}
	input, ranks, err := decode(data, n)
	if err != nil {
		return nil, fmt.Errorf("%w: jq: the data is %w", fault.ErrBadQuery, err)
	}
	e := &encoder{limit: o.Size, ranks: ranks, out: []byte{'['}}
	results := code.RunWithContext(m, input)
	input = nil
	count := 0
	for {
		v, ok := results.Next()
		if !ok {
			break
		}
		if err, failed := v.(error); failed {
			return nil, m.explain(err)
		}
		if count++; count > maxOutputs {
			return nil, fmt.Errorf("jq: more than %d values: %w", maxOutputs, fault.ErrTooLarge)
		}
		if count > 1 {
			e.out = append(e.out, ',')
		}
		if err := e.encode(v, 0); err != nil {
			return nil, fmt.Errorf("jq: %w", err)
		}
	}
	switch count {
	case 0:
		return nil, fmt.Errorf("jq %.80q: %w: the program gives no value", source, fault.ErrNoMatch)
	case 1:
		return e.out[1:], nil
	}
	return append(e.out, ']'), nil
}

// A metered context ends a program. gojq asks for Done before every step, which counts the steps.
type metered struct {
	context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	steps  int64 // counted by the one goroutine that runs the program
	limit  time.Duration
}

// errProgram: a program met data it does not fit.
var errProgram = errors.New("program failed")

// failure is an errProgram in its own words.
type failure struct{ error }

func (f failure) Error() string        { return brief.Clip(f.error.Error(), 300) }
func (f failure) Is(target error) bool { return target == errProgram }

// errStopped: a program went beyond what one may use.
var errStopped = errors.New("stopped")

func meter(ctx context.Context, limit time.Duration, size int64) *metered {
	m := &metered{limit: limit}
	m.Context, m.cancel = context.WithCancelCause(ctx)
	slack := uint64(heapSlack + heapFactor*size)
	start := measured("/gc/heap/live:bytes")
	last := start
	m.work.Go(func() {
		tick := time.NewTicker(heapEvery)
		defer tick.Stop()
		end := time.NewTimer(limit)
		defer end.Stop()
		for {
			select {
			case <-m.Context.Done():
				return
			case <-end.C:
				m.cancel(fmt.Errorf("%w after %s", errStopped, limit))
			case <-tick.C:
				now := heap()
				if size > largeData && now > last+uint64(size)*3/2 { // else garbage may be as much as what lives
					last = collected()
					now = last
				}
				if now > start+slack && collected() > start+slack {
					m.cancel(fmt.Errorf("%w: it takes more than %d MiB of memory", errStopped, slack>>20))
				}
			}
		}
	})
	return m
}

// Done implements context.Context.
func (m *metered) Done() <-chan struct{} {
	if m.steps++; m.steps == maxSteps {
		m.cancel(fmt.Errorf("%w after %d steps", errStopped, int64(maxSteps)))
	}
	return m.Context.Done()
}

func (m *metered) stop() {
	m.cancel(nil)
	m.work.Wait()
}

// explain says why a program failed.
func (m *metered) explain(err error) error {
	if m.Context.Err() == nil {
		return fmt.Errorf("%w: jq: %w", fault.ErrBadQuery, failure{err})
	}
	if cause := context.Cause(m.Context); errors.Is(cause, errStopped) {
		return fmt.Errorf("%w: jq: %w", fault.ErrTooLarge, cause)
	}
	return m.Context.Err()
}

// heap returns the bytes of all objects, dead ones included.
func heap() uint64 { return measured("/memory/classes/heap/objects:bytes") }

// collected returns the bytes of the living objects.
func collected() uint64 {
	runtime.GC()
	return measured("/gc/heap/live:bytes")
}

func measured(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
