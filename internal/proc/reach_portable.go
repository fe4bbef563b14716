//go:build !linux || !(amd64 || arm64)

package proc

import (
	"errors"
	"os"
	"syscall"
)

// SignalAll sends a signal to the process group, or where there are none to the
// program.
func (p *Process) SignalAll(s syscall.Signal) error { return p.signalAll(s) }

// InputOf returns the zero Input: this system does not tell who waits for what.
func InputOf(*os.File) (Input, error) { return Input{}, nil }

// WaitsFor returns false: this system does not tell.
func (*Process) WaitsFor(Input) bool { return false }

var errNoPorts = errors.New("this system does not tell which program listens at a port")

// Listens fails: this system does not tell.
func (*Process) Listens(uint16) (bool, error) { return false, errNoPorts }

var errNoLoad = errors.New("this system does not tell what the processes of a command use")

// Load fails: this system does not tell.
func (*Process) Load() (Load, error) { return Load{}, errNoLoad }

// Outlived returns false: this system does not tell.
func (*Process) Outlived() bool { return false }

// Names returns none: this system does not tell.
func (*Process) Names() []string { return nil }
