//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tidings

import (
	"os"
	"syscall"
)

// lock locks a file until it is closed or the process ends. False if another process has it locked.
func lock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
