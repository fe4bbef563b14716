//go:build !linux

package ipc

import (
	"errors"
	"os"
)

// errUnsupported: scripts need a sandbox, which only Linux has.
var errUnsupported = errors.New("scripts do not run on this system")

// Conn is one end of the socket; there is none on this system.
type Conn struct{}

// Pair returns an error.
func Pair() (*Conn, *os.File, error) { return nil, nil, errUnsupported }

// New returns an error.
func New(uintptr) (*Conn, error) { return nil, errUnsupported }

// Close does nothing.
func (*Conn) Close() error { return nil }

// Send returns an error.
func (*Conn) Send(Message, ...int) error { return errUnsupported }

// Receive returns an error.
func (*Conn) Receive() (Message, []*os.File, error) { return Message{}, nil, errUnsupported }

// CloseAll does nothing: no files come here.
func CloseAll([]*os.File) {}
