package everything

import (
	"context"
	"time"
)

// taskTools go on as tasks where the agent knows tasks.
var taskTools = []tool{
	{name: "greet", description: "Greets at once.", schema: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`, run: (*exchange).greet},
	{name: "slow_compute", description: "Works for some seconds.", schema: `{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`, task: optionalTask, run: (*exchange).slow},
	{name: "failing_job", description: "Fails as a tool fails, after a while.", task: requiredTask, run: (*exchange).failing},
	{name: "protocol_error_job", description: "Fails as a protocol fails.", task: optionalTask, run: func(*exchange) (string, error) {
		return "", &fault{code: -32603, message: "the job broke"}
	}},
	{name: "confirm_delete", description: "Deletes a file once the user has agreed.", schema: `{"type":"object","properties":{"filename":{"type":"string"}}}`, task: optionalTask, run: (*exchange).confirmDelete},
	{name: "multi_input", description: "Asks two things at once.", task: optionalTask, run: (*exchange).multiInput},
	{name: "test_tool_with_task", description: "Asks for a name, then works on.", task: requiredTask, run: (*exchange).askThenWork},
}

// callTask runs a tool as a task if the agent knows tasks.
func (x *exchange) callTask(t tool) (string, error) {
	if x.session != nil {
		return t.run(x)
	}
	if err := x.demand("extensions", tasksExtension); err != nil {
		if t.task == requiredTask {
			return "", err
		}
		return t.run(x)
	}
	if t.name == "test_tool_with_task" { // its question comes before the task
		if _, err := x.ask(nameForm); err != nil {
			return "", err
		}
	}
	job := x.s.tasks.start(func(ctx context.Context, job *task) (string, error) {
		inside := *x
		inside.ctx, inside.job, inside.out = ctx, job, nowhere{}
		return t.run(&inside)
	})
	x.s.tasks.mu.Lock()
	defer x.s.tasks.mu.Unlock()
	return `{"resultType":"task",` + job.head() + `}`, nil
}

// nowhere takes what a task has to say while it runs.
type nowhere struct{}

func (nowhere) send([]byte) {}

func (x *exchange) greet() (string, error) {
	var a struct{ Name string }
	if err := x.into(&a); err != nil {
		return "", err
	}
	return text("Hello, " + a.Name + "!"), nil
}

func (x *exchange) slow() (string, error) {
	var a struct {
		Seconds float64
		Label   string
	}
	if err := x.into(&a); err != nil {
		return "", err
	}
	if err := x.pause(time.Duration(a.Seconds * float64(time.Second))); err != nil {
		return "", err
	}
	return text("computed " + a.Label), nil
}

func (x *exchange) failing() (string, error) {
	return failed("the job failed"), x.pause(4 * step)
}

func (x *exchange) confirmDelete() (string, error) {
	var a struct{ Filename string }
	if err := x.into(&a); err != nil {
		return "", err
	}
	got, err := x.ask(form("confirm", "Delete "+a.Filename+"?", `"confirm":{"type":"boolean"}`, "confirm"))
	if err != nil {
		return "", err
	}
	return text("confirmed by " + string(got["confirm"])), nil
}

func (x *exchange) multiInput() (string, error) {
	got, err := x.ask(form("first", "First name?", `"name":{"type":"string"}`, "name"), form("second", "Second name?", `"name":{"type":"string"}`, "name"))
	if err != nil {
		return "", err
	}
	return text(contentOf(got["first"], "name") + " and " + contentOf(got["second"], "name")), nil
}

func (x *exchange) askThenWork() (string, error) {
	job := x.job
	x.job = nil // the answer came before the task
	got, err := x.ask(nameForm)
	x.job = job
	if err != nil {
		return "", err
	}
	return text("done for " + contentOf(got["user_name"], "name")), x.pause(step)
}
