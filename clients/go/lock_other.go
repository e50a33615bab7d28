//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package tidings

import (
	"errors"
	"os"
)

// lock fails: the standard library has no file locks for this system.
func lock(*os.File) (bool, error) {
	return false, errors.New("OfflineDir needs file locks, which this system doesn't have")
}
