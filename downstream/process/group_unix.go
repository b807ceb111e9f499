//go:build unix

package process

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// group is a process group; its id is that of the process that leads it.
type group struct{ id int }

// ownGroup puts the process that will start into a new group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// ownSession detaches the process that will start from our terminal and group.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func groupOf(cmd *exec.Cmd) *group { return &group{cmd.Process.Pid} }

func (g *group) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) } // gone already is fine
func (g *group) kill()      { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// lives says if any process of the group is left. One that nobody waited for yet counts as well.
func (g *group) lives() bool {
	return !errors.Is(syscall.Kill(-g.id, 0), syscall.ESRCH)
}

// finish ends what is left of the group, politely for as long as grace.
func (g *group) finish(grace time.Duration) {
	if !g.lives() {
		return
	}
	g.terminate()
	for end := time.Now().Add(grace); g.lives() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	g.kill()
}
