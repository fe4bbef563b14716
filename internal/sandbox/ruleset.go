//go:build linux

package sandbox

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tipstaff/internal/landlock"
	"tipstaff/internal/proc"
	"tipstaff/internal/profile"
	"tipstaff/internal/seccomp"
)

// ruleset makes the Landlock ruleset of a room; nil where there is no Landlock,
// which only best effort in namespaces bears.
func (s *Sandbox) ruleset(w *walls, r *room) (*landlock.Ruleset, error) {
	if s.status.Landlock == "" {
		return nil, nil
	}
	rs, err := landlock.New(s.landlockOptions(r.held.profile, r.held.network))
	if err != nil {
		return nil, err
	}
	if r.held.profile != profile.Open {
		if err := s.allow(rs, w, r); err != nil {
			return nil, errors.Join(err, rs.Close())
		}
	}
	return rs, nil
}

// domain says who enters a Landlock domain. Outside of namespaces each command
// enters one of its own: it could reach the process that makes it if that were in
// the same.
func (s *Sandbox) domain() proc.Domain {
	switch {
	case s.status.Landlock == "":
		return proc.NoDomain
	case s.status.tier == Namespaces:
		return proc.DomainOfPlace
	default:
		return proc.DomainOfCommand
	}
}

// restrict gives the ruleset to the enclosure.
func (s *Sandbox) restrict(w *walls, r *room) error {
	if w.ruleset == nil {
		return nil
	}
	return w.enclosure.Restrict(w.ruleset.FD(), func(procfs int) error {
		if r.held.profile == profile.Open {
			return nil
		}
		w.places.Add(1)
		if err := w.ruleset.AllowFD(procfs, landlock.Read); err != nil {
			return fmt.Errorf("cannot allow /proc: %w", err)
		}
		return nil
	})
}

// landlockOptions are those of every ruleset.
func (s *Sandbox) landlockOptions(p profile.Profile, n Network) landlock.Options {
	return landlock.Options{
		Files: p != profile.Open, Scope: true,
		NoTCP: s.status.tier == Landlock && n.Reach == NoNetwork,
	}
}

// allow adds what the profile allows, and the room's own directories.
func (s *Sandbox) allow(rs *landlock.Ruleset, w *walls, r *room) error {
	own := []string{tempOf(r.dir)}
	if s.status.tier == Namespaces {
		own = append(own, filepath.Join(r.dir, "var-tmp"))
		readable := []string{filepath.Join(r.dir, "run"), s.scratch.dev}
		for _, path := range w.paths.Shown {
			readable = append(readable, shownIn(r.dir, filepath.Dir(path)))
		}
		for _, dir := range readable {
			if err := allowPath(rs, dir, landlock.Read); err != nil {
				return err
			}
		}
		for path, fd := range w.enclosure.Roots() {
			if err := rs.AllowFD(fd, landlock.Read|landlock.Write|landlock.Device); err != nil {
				return fmt.Errorf("cannot allow %s: %w", path, err)
			}
		}
	}
	for _, dir := range own {
		if err := allowPath(rs, dir, landlock.Read|landlock.Write|landlock.Device); err != nil {
			return err
		}
	}
	for _, g := range w.version.allowed.Grants {
		if err := allowPath(rs, g.Path, accessOf(g.Right)); err != nil {
			return err
		}
	}
	return nil
}

// allowPath passes over what is gone, or is a link by now: what is not allowed
// is refused.
func allowPath(rs *landlock.Ruleset, path string, a landlock.Access) error {
	err := rs.AllowPath(path, a)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || isLink(err) {
		return nil
	}
	return err
}

func accessOf(r profile.Right) (a landlock.Access) {
	for right, access := range map[profile.Right]landlock.Access{
		profile.List: landlock.ReadDir, profile.Read: landlock.Read, profile.Write: landlock.Write, profile.Device: landlock.Device,
	} {
		if r&right != 0 {
			a |= access
		}
	}
	return a
}

// newSecret makes a number that no command can guess or read: filters are shown
// to nobody but root's debuggers.
func newSecret() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("cannot make a secret: %w", err)
	}
	return binary.NativeEndian.Uint64(b[:]) | 1, nil // never 0
}

// makeFilter writes the filter of system calls.
func (s *Sandbox) makeFilter(h held) ([]proc.Instruction, error) {
	arch, ok := seccomp.Native()
	if !ok {
		return nil, errors.New("there is no filter of system calls for this processor")
	}
	n := h.network
	o := seccomp.Options{
		Sockets: seccomp.Internet, OwnIPC: s.status.tier == Namespaces, Attributes: s.status.tier == Namespaces, SiblingSecret: s.secret,
		AskRenames: h.asks, AskUnix: h.doors,
	}
	if s.status.tier == Landlock && n.Reach == NoNetwork {
		o.Sockets = seccomp.NoSockets
	}
	code, err := seccomp.Filter(arch, o)
	if err != nil {
		return nil, err
	}
	filter := make([]proc.Instruction, len(code))
	for i, c := range code {
		filter[i] = proc.Instruction(c)
	}
	return filter, nil
}
