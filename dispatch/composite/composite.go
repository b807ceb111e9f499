// Package composite runs tools that a configuration makes of calls to others.
//
// A definition is compiled once: what is wrong with it is said then, with its lines. Running it only reads it.
package composite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Definition is a composite tool as the configuration writes it. Texts in Args, ForEach, When and Output may hold
// templates: {inputs.x}, {inputs.x|default:10}, {steps.y.path}, {item}, {index}. One that is the whole text keeps the
// type of its value; {{ stands for {.
type Definition struct {
	Name, Description string
	// Inputs is a JSON Schema of an object, or the short form {x: TYPE} or {x: {type, required, …}}. Nil: what the
	// templates name.
	Inputs json.RawMessage
	// Annotations is told of the tool as it is; nil: nothing.
	Annotations json.RawMessage
	// Parallel runs at once, a step after those it names; each may fail alone. Steps run after that, in order.
	Parallel, Steps []Step
	// Output is the answer. Nil: of Parallel the values by step, of Steps the last value, of both the values by step.
	Output json.RawMessage
	Line   int
}

// Step is one call.
type Step struct {
	Name, Tool string
	Args       json.RawMessage // an object; nil: none
	When       string          // "": always. A template, or a comparison (== != < <= > >=) of two
	ForEach    string          // "": once. A template of a list: one call for each {item}, and the value is their list
	AtOnce     int             // calls of ForEach at one time; 0 means 8
	Retry      int             // further tries after a failure
	Delay      time.Duration   // before the second try, doubled before each further one; 0 means 200ms
	Timeout    time.Duration   // of one try; 0: none of its own
	Optional   bool            // of Steps: a failure is its value, and the next step runs
	Line       int
}

// Limits of one run.
const (
	maxSteps    = 100
	maxElements = 1000
	atOnce      = 8
	maxRetries  = 10
	maxText     = 16 << 20 // bytes of one text made of templates
)

// Caller makes the calls. It is safe for concurrent use.
type Caller interface {
	// Call calls a tool by server.tool and gives the data of its result.
	Call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error)
}

// Problem is something wrong with a definition.
type Problem struct {
	Line int
	Msg  string
}

// Problems are all of them, by line.
type Problems []Problem

// Error returns the first and how many there are.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].Msg
	}
	return fmt.Sprintf("%s (and %d more)", p[0].Msg, len(p)-1)
}

// Tool is a compiled definition. It is immutable and safe for concurrent use.
type Tool struct {
	definition     Definition
	inputs         inputs
	entry          json.RawMessage
	parallel, then []*step
	output         *value // nil: by the form of the definition
}

// step is a compiled Step.
type step struct {
	Step
	args    *value
	when    *condition
	forEach *value
	needs   []*step // of the same Parallel
}

// Compile checks a definition. The error is Problems.
func Compile(d Definition) (*Tool, error) {
	c := &compiler{names: map[string]*step{}, mentioned: map[string]mention{}}
	t := &Tool{definition: d}
	if len(d.Parallel)+len(d.Steps) == 0 {
		c.add(d.Line, "it has neither parallel nor steps")
	}
	if len(d.Parallel)+len(d.Steps) > maxSteps {
		c.add(d.Line, "it has more than %d steps", maxSteps)
		return nil, c.problems
	}
	for _, s := range d.Parallel {
		c.names[s.Name] = nil // may be named before it is compiled
	}
	for _, s := range d.Parallel {
		t.parallel = append(t.parallel, c.step(s))
	}
	c.connect(t.parallel)
	for _, s := range d.Steps {
		st := c.step(s)
		t.then = append(t.then, st)
	}
	if len(d.Output) > 0 {
		t.output = c.value(d.Output, d.Line, "output", false)
	}
	t.inputs = c.readInputs(d)
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		return nil, c.problems
	}
	t.entry = t.describe()
	return t, nil
}

// Definition is the tools/list entry.
func (t *Tool) Definition() json.RawMessage { return t.entry }

// Tools names what the steps call.
func (t *Tool) Tools() []string {
	var out []string
	for _, s := range slices.Concat(t.parallel, t.then) {
		out = append(out, s.Tool)
	}
	return out
}

func (t *Tool) describe() json.RawMessage {
	e := struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations,omitempty"`
	}{t.definition.Name, t.definition.Description, t.inputs.schema, t.definition.Annotations}
	raw, err := json.Marshal(e)
	if err != nil { // parts of the definition were checked to be JSON
		panic(err)
	}
	return raw
}
