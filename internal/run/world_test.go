//go:build linux

package run

import (
	"os"
	"path/filepath"
	"syscall"

	"tipstaff/internal/sandbox"

	"tipstaff"
	"tipstaff/internal/policy"
)

// world is the real machine as far as these tests need it: everything is
// allowed, and files are looked up.
type world struct{ path []string }

func (w world) Lookup(name string) (policy.Program, error) {
	for _, dir := range w.path {
		if p, err := w.File(filepath.Join(dir, name), nil); err == nil {
			return p, nil
		}
	}
	return policy.Program{}, policy.ErrNotFound
}

func (world) File(path string, dir policy.Directory) (policy.Program, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir.Path(), path)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return policy.Program{}, policy.ErrNotFound
	}
	return policy.Program{Path: path, File: policy.FileID{Dev: st.Dev, Ino: st.Ino}}, nil
}

func (world) Directory(path string) (policy.Directory, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, policy.ErrNotFound
	}
	return directory{f}, nil
}

func (world) Roots() ([]string, error) { return nil, nil }

func (world) Allowlist(tipstaff.Family) policy.Allowlist {
	return policy.ParseAllowlist("*", "ALLOWED_COMMANDS")
}

type directory struct{ *os.File }

func (d directory) Path() string { return d.Name() }

// unconfined confines nothing: these tests are about something else.
type unconfined struct{}

func (unconfined) Confine(c sandbox.Command) (*sandbox.Confined, error) {
	return &sandbox.Confined{Env: c.Env}, nil
}
