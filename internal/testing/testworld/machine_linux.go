package testworld

import (
	"os"
	"path/filepath"
	"syscall"

	"tipstaff"
	"tipstaff/internal/policy"
)

// Machine answers the policy's questions from the real machine: every program
// is allowed, and there are no roots.
type Machine struct {
	Path []string // where bare names are looked up
}

// Lookup finds a program by its bare name.
func (m Machine) Lookup(name string) (policy.Program, error) {
	for _, dir := range m.Path {
		if p, err := m.File(filepath.Join(dir, name), nil); err == nil {
			return p, nil
		}
	}
	return policy.Program{}, policy.ErrNotFound
}

// File finds a program by its path.
func (Machine) File(path string, dir policy.Directory) (policy.Program, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir.Path(), path)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return policy.Program{}, policy.ErrNotFound
	}
	return policy.Program{Path: path, File: policy.FileID{Dev: st.Dev, Ino: st.Ino}}, nil
}

// Directory opens a directory; the caller closes it.
func (Machine) Directory(path string) (policy.Directory, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, policy.ErrNotFound
	}
	return directory{f}, nil
}

// Roots returns none.
func (Machine) Roots() ([]string, error) { return nil, nil }

// Allowlist allows every program.
func (Machine) Allowlist(tipstaff.Family) policy.Allowlist {
	return policy.ParseAllowlist("*", "ALLOWED_COMMANDS")
}

type directory struct{ *os.File }

func (d directory) Path() string { return d.Name() }
