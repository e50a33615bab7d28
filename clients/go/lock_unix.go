//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tidings

import (
	"os"
	"syscall"
)

// lock locks a file until it is closed or the process ends. False if another process has it locked, or has removed it.
func lock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var status syscall.Stat_t
	err = syscall.Fstat(int(file.Fd()), &status)
	return err == nil && status.Nlink > 0, err
}
