package process

import (
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object. The system ends what is in it when the last handle closes, which happens however this
// process ends, so that no watcher is needed here. If no job can be had, only the process itself is ended.
type group struct {
	id  int
	job windows.Handle
	cmd *exec.Cmd
}

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func ownSession(cmd *exec.Cmd) { ownGroup(cmd) }

func groupOf(cmd *exec.Cmd) *group {
	g := &group{id: cmd.Process.Pid, cmd: cmd}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = assign(job, cmd.Process.Pid)
	}
	if err != nil {
		windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

// terminate is kill: there is no polite signal for a process without a console.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1) // gone already is fine
		return
	}
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
	}
}

func (g *group) lives() bool { return false }

// finish is called once, after the process itself ended.
func (g *group) finish(time.Duration) {
	g.kill()
	if g.job != 0 {
		windows.CloseHandle(g.job)
	}
}
