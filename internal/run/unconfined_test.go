//go:build linux

package run

import (
	"tipstaff/internal/sandbox"
)

// unconfined confines nothing: these tests are about something else.
type unconfined struct{}

func (unconfined) Confine(c sandbox.Command) (*sandbox.Confined, error) {
	return &sandbox.Confined{Env: c.Env}, nil
}
