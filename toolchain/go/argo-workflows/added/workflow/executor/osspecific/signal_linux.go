// Package osspecific on Linux: the functions that it has for macOS and Windows, and that the module's archive lacks here.
package osspecific

import (
	"os"
	"syscall"

	"github.com/argoproj/argo-workflows/v3/util/errors"
)

// Term is the signal that asks a program to end.
var Term = syscall.SIGTERM

// signalled is what a shell adds to the number of the signal that ended a program.
const signalled = 128

// CanIgnoreSignal tells the signals that the kernel and Go's runtime send, which are not for the program.
func CanIgnoreSignal(s os.Signal) bool {
	return s == syscall.SIGCHLD || s == syscall.SIGURG
}

// Setpgid gives a program a process group of its own, which Kill ends as a whole.
func Setpgid(attributes *syscall.SysProcAttr) {
	attributes.Setpgid = true
}

// Kill sends a signal to the process group of a program, or to the program where it has none.
func Kill(pid int, s syscall.Signal) error {
	group, err := syscall.Getpgid(pid)
	if err != nil {
		return syscall.Kill(pid, s)
	}
	return syscall.Kill(-group, s)
}

// Wait returns when the program has ended, with its exit code as an error unless it is 0. The executor is the first
// process of the container, so it also reaps the processes that the program left behind.
func Wait(process *os.Process) error {
	pid := process.Pid
	if err := process.Release(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return err
		case ended != pid:
			continue
		case status.Signaled():
			return errors.NewExitErr(signalled + int(status.Signal()))
		case status.Exited():
			return errors.NewExitErr(status.ExitStatus())
		}
	}
}
