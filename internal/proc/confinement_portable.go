//go:build !linux || !(amd64 || arm64)

package proc

import (
	"errors"
	"os"
)

// Namespaces exist on Linux only.
type Namespaces struct {
	listener *os.File
	roots    map[string]int
}

var errNoNamespaces = errors.New("namespaces exist on Linux on amd64 and arm64 only")

// NewNamespaces fails on this system.
func (*Engine) NewNamespaces(NamespaceSpec) (*Namespaces, error) { return nil, errNoNamespaces }

// Close closes nothing.
func (*Namespaces) Close() {}
