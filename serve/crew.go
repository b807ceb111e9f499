package serve

import "sync"

// idleCrew is how many goroutines wait for the next task.
const idleCrew = 16

// crew runs tasks in goroutines that are used again: a call needs a deep stack, and a new goroutine
// would grow one each time. It is safe for concurrent use; once wait is called only tasks may give tasks.
type crew struct {
	wg    sync.WaitGroup
	tasks chan func()

	mu     sync.Mutex
	idle   int
	closed bool
}

func newCrew() *crew { return &crew{tasks: make(chan func())} }

// run runs a task at once, in a goroutine that waits for one or in a new one.
func (c *crew) run(task func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		select {
		case c.tasks <- task:
			return
		default:
		}
	}
	c.wg.Go(func() { c.work(task) })
}

func (c *crew) work(task func()) {
	for ok := true; ok; {
		task()
		if !c.rest(1) {
			return
		}
		task, ok = <-c.tasks
		c.rest(-1)
	}
}

// rest counts who waits for a task; false means that enough do.
func (c *crew) rest(by int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if by > 0 && c.idle >= idleCrew {
		return false
	}
	c.idle += by
	return true
}

// wait returns when all tasks have ended.
func (c *crew) wait() {
	c.mu.Lock()
	c.closed = true
	close(c.tasks)
	c.mu.Unlock()
	c.wg.Wait()
}
