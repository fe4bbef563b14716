//go:build !linux && !darwin

package admin

import (
	"errors"
	"os"
)

// errNoKeys: keys cannot be read one by one on this system.
var errNoKeys = errors.New("no keys can be pressed here")

type terminal struct{ in, out *os.File }

func openTerminal(*os.File, *os.File) (*terminal, error) { return nil, errNoKeys }

func (*terminal) close() error              { return nil }
func (*terminal) size() (rows, columns int) { return 24, 80 }
func (*terminal) ready(int) bool            { return false }
