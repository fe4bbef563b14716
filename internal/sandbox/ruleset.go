//go:build linux

package sandbox

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"tipstaff/internal/landlock"
	"tipstaff/internal/proc"
	"tipstaff/internal/profile"
	"tipstaff/internal/seccomp"
)

// rules are a Landlock ruleset and who has it. In namespaces all sandboxes of a version
// have one: what its rules say of the directories of one session lies in no other's view.
// In the landlock tier each has its own, because there the ruleset is all that keeps
// sessions apart.
type rules struct {
	*landlock.Ruleset
	mu              sync.Mutex // held by whoever adds a rule
	users           int        // under version.laying
	sessions, procs int        // that have had rules in it: the former under version.laying
}

// Rules are copied whenever a place enters a domain; so a shared ruleset is made anew
// after so many sessions or places.
const (
	mostSessions = 64
	mostPlaces   = 256
)

// takeRules gives the ruleset for a room; nil where there is no Landlock, which only best
// effort in namespaces bears.
func (s *Sandbox) takeRules(w *walls, r *room) (*rules, error) {
	if s.status.Landlock == "" {
		return nil, nil
	}
	ver := w.version
	ver.laying.Lock()
	defer ver.laying.Unlock()
	rs := ver.rules
	if rs == nil || s.status.tier != Namespaces || rs.worn() {
		made, err := landlock.New(s.landlockOptions(r.held.profile, r.held.network))
		if err != nil {
			return nil, err
		}
		rs = &rules{Ruleset: made}
		if r.held.profile != profile.Open {
			if err := s.allow(rs, ver); err != nil {
				return nil, errors.Join(err, rs.Close())
			}
		}
		if s.status.tier == Namespaces {
			ver.rules = rs
		}
	}
	rs.users++
	rs.sessions++
	return rs, nil
}

func (rs *rules) worn() bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.sessions >= mostSessions || rs.procs >= mostPlaces
}

// leaveRules closes the ruleset when nobody has it any more.
func (ver *version) leaveRules(rs *rules) {
	ver.laying.Lock()
	defer ver.laying.Unlock()
	if rs.users--; rs.users > 0 {
		return
	}
	_ = rs.Close()
	if ver.rules == rs {
		ver.rules = nil
	}
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
	if w.rules == nil {
		return nil
	}
	return w.enclosure.Restrict(w.rules.FD(), func(procfs int) error {
		if r.held.profile == profile.Open {
			return nil
		}
		w.places.Add(1)
		w.rules.mu.Lock()
		defer w.rules.mu.Unlock()
		w.rules.procs++
		if err := w.rules.AllowFD(procfs, landlock.Read); err != nil {
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

// allow adds what the profile allows every session.
func (s *Sandbox) allow(rs *rules, ver *version) error {
	if s.status.tier == Namespaces {
		if err := allowPath(rs.Ruleset, s.scratch.dev, landlock.Read); err != nil {
			return err
		}
	}
	for _, g := range ver.allowed.Grants {
		if err := allowPath(rs.Ruleset, g.Path, accessOf(g.Right)); err != nil {
			return err
		}
	}
	return nil
}

// allowOwn adds the room's own directories.
func (s *Sandbox) allowOwn(w *walls, r *room) error {
	const all = landlock.Read | landlock.Write | landlock.Device
	if w.rules == nil || r.held.profile == profile.Open {
		return nil
	}
	w.rules.mu.Lock()
	defer w.rules.mu.Unlock()
	own, readable := []string{tempOf(r.dir)}, []string{}
	if s.status.tier == Namespaces {
		own = append(own, filepath.Join(r.dir, "var-tmp"))
		readable = append(readable, filepath.Join(r.dir, "run"))
		for _, path := range w.paths.Shown {
			readable = append(readable, shownIn(r.dir, filepath.Dir(path)))
		}
	}
	for access, dirs := range map[landlock.Access][]string{all: own, landlock.Read: readable} {
		for _, dir := range dirs {
			if err := allowPath(w.rules.Ruleset, dir, access); err != nil {
				return err
			}
		}
	}
	for path, fd := range w.enclosure.Roots() {
		if err := w.rules.AllowFD(fd, all); err != nil {
			return fmt.Errorf("cannot allow %s: %w", path, err)
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
