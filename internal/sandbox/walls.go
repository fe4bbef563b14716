//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/egress"
	"tipstaff/internal/guard"
	"tipstaff/internal/proc"
	"tipstaff/internal/profile"
)

// walls are what a room consists of for the kernel.
type walls struct {
	version   *version
	paths     profile.Paths // of the version
	view      *view         // nil outside of namespaces
	enclosure *proc.Enclosure
	rules     *rules             // nil where the profile has no rules for files and nothing else needs one
	places    atomic.Int64       // for whose /proc the ruleset has a rule
	copies    map[string]string  // of directories that git tracks, by their paths
	serving   context.CancelFunc // ends the proxy's service; nil without
	served    chan struct{}
	stamps    *stamps // of a room that no command had been in; nil: it is used once
	users     int     // commands, and the room itself for as long as it has them; under room.mu
}

// build makes the walls for a version. What it says may change before they stand (a
// secret is removed, a pinned file is replaced): then the workspace is rescanned.
func (r *room) build(v *version) (w *walls, err error) {
	const attempts = 5
	for range attempts {
		if w, err = r.sandbox.raise(r, v); err == nil {
			v.prove()
			return w, nil
		}
		if !v.spoil() && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errReplaced) {
			return nil, err
		}
		var failure error
		if v, failure = r.constraints.rescan(); failure != nil {
			return nil, failure
		}
	}
	return w, err
}

// errReplaced: while walls were made, a file that they pin was replaced.
var errReplaced = errors.New("a protected file was replaced meanwhile")

// raise makes the walls for a version.
func (s *Sandbox) raise(r *room, ver *version) (*walls, error) {
	w, before := &walls{version: ver, paths: ver.paths, users: 1}, s.guard.Changes()
	spec := proc.EnclosureSpec{Filter: r.held.filter, CloneSecret: s.secret, Limits: r.held.kernel, Group: r.held.group, Domain: s.domain()}
	if r.held.asks || r.doors != nil {
		spec.Supervise = r.supervise
	}
	if s.status.tier == Namespaces {
		mounts, err := w.furnish(r)
		if err != nil {
			return nil, err
		}
		spec.Namespaces = &proc.NamespaceSpec{
			ReadOnly: r.held.profile != profile.Open, Mounts: mounts,
			OwnNetwork: r.held.network.Reach != AllNetwork, Processes: r.held.limits.Processes,
		}
		if r.held.proxy != nil {
			spec.Namespaces.Listen = proxyPort
		}
	}
	var err error
	if w.enclosure, err = s.o.Engine.NewEnclosure(spec); err != nil {
		if proc.NoListener(err) {
			err = fmt.Errorf("%w: its credentials need a kernel that asks the server about system calls (Linux 5.19), and no outer sandbox that is asked already: %w", ErrUnmet, err)
		}
		return nil, err
	}
	if w.rules, err = s.takeRules(w, r); err == nil {
		err = s.allowOwn(w, r)
	}
	if err == nil {
		err = s.restrict(w, r)
	}
	if err == nil && r.held.proxy != nil {
		err = w.serve(s, r)
	}
	if r.isNew() && err == nil {
		w.stamp(r.dir)
	}
	if err == nil && !s.guard.Join(w.enclosure, before) {
		err = errReplaced
	}
	if err != nil {
		w.close(s.guard)
		return nil, err
	}
	return w, nil
}

// furnish makes what the view needs in the room, and gives the mounts.
func (w *walls) furnish(r *room) (mounts []proc.Mount, err error) {
	if w.view, err = r.sandbox.viewOf(r.constraints, w.version); err != nil {
		return nil, err
	}
	r.mu.Lock()
	isNew := r.walls == nil && !r.furnished
	r.furnished = true
	r.mu.Unlock()
	mounts, w.copies, err = w.view.furnish(r.dir, isNew)
	return mounts, err
}

// remove removes the directory of the room if there is nothing in it but what was made
// for it, and reports whether it is gone.
func (w *walls) remove(dir string) bool {
	v := w.view
	if v == nil {
		v = &view{spots: []spot{{in: "tmp"}}}
	}
	return v.remove(dir)
}

// supervise answers the system calls that the filter of a room asks about.
func (r *room) supervise(c proc.Call) {
	switch {
	case r.doors != nil && r.doors.answer(c):
	case r.held.asks:
		r.sandbox.guard.Supervise(c, r.noteUnsafe)
	default:
		c.Return(unix.ENOSYS) // the filter asks about nothing else
	}
}

// visible are directories that can be seen wherever they lie: where the server runs
// commands that name no directory, and the home.
func (s *Sandbox) visible() []string {
	list := []string{s.o.Directory}
	if home, err := filepath.EvalSymlinks(s.o.Machine.Home); err == nil && s.o.Machine.Home != "" {
		list = append(list, home)
	}
	return list
}

// mostProbing is how long the workspace is looked through while the tier is found out:
// neither the start of a server nor doctor waits for a vast one.
const mostProbing = time.Second

// consult asks a profile, and makes what has to be there before commands run.
func (s *Sandbox) consult(p profile.Profile, workspace, reveal []string) (profile.Paths, error) {
	ctx := context.Background()
	if s.probing.Load() {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, mostProbing)
		defer stop()
	}
	m := s.o.Machine
	m.Reveal = reveal
	m.Known, m.KnownDirs = s.knownRepositories()
	m.Seen, m.Control = s.workspacesSeen(), s.allowedControl()
	m.ConfigFiles = append(slices.Clone(m.ConfigFiles), s.scratch.dir) // the rooms of others lie in it
	m.Own = s.ownFiles()
	paths, err := p.Resolve(ctx, m, workspace)
	var came []string
	if err == nil {
		came, err = s.noteRepositories(paths)
	}
	if err == nil && len(paths.MissingBeside(came)) > 0 {
		paths.Missing = paths.MissingBeside(came)
		unmade := paths.Make()
		if paths, err = p.Resolve(ctx, m, workspace); err == nil {
			if why := whyUnmade(paths.MissingBeside(came), unmade); why != "" {
				s.warnOnce("commands do without some files", "why", why)
			}
		}
	}
	if err != nil {
		return paths, fmt.Errorf("cannot tell what commands may read and write: %w", err)
	}
	paths.Missing = paths.MissingBeside(came)
	if p == profile.Open && s.status.tier == Namespaces {
		paths.Hidden = append(paths.Hidden, own(m)...)
		paths.PinOwn(m.Own)
	}
	if s.o.Opened != nil {
		s.o.Opened(paths, s.status.tier == Namespaces)
	}
	return s.protect(paths, came), nil
}

// whyUnmade says in one line what is missing and could not be made, of the tools'
// caches and of what git would let a command make; "" if nothing.
func whyUnmade(missing []profile.Place, err error) string {
	if len(missing) == 0 || err == nil {
		return ""
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Sprintf("%d caches or files for commands do not exist and cannot be made (doctor --paths lists them), the first of them: %s", len(missing), reason)
}

// own are tipstaff's own directories, which no profile opens where mounts can hide them.
func own(m profile.Machine) (places []profile.Place) {
	for _, path := range slices.Concat([]string{m.StateDir}, m.ConfigFiles) {
		canonical, err := filepath.EvalSymlinks(path)
		if err != nil || path == "" {
			continue
		}
		if st, err := os.Stat(canonical); err == nil {
			places = append(places, profile.Place{Path: canonical, Dir: st.IsDir(), Why: "tipstaff's own records and settings"})
		}
	}
	return places
}

// serve lets the egress proxy answer on the loopback of the room.
func (w *walls) serve(s *Sandbox, r *room) error {
	listener, err := egress.Listen(w.enclosure.Listener())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(withRoom(context.Background(), r))
	w.serving, w.served = stop, make(chan struct{})
	go func() {
		defer close(w.served)
		if err := r.held.proxy.Serve(ctx, listener, r.token); err != nil {
			s.o.Log.Error("the egress proxy has failed; commands of one session reach no host", "error", err)
		}
	}()
	return nil
}

// proxyPort is where the egress proxy listens, on the loopback of the commands.
const proxyPort = 3128

func (w *walls) close(g *guard.Guard) {
	if w.serving != nil {
		w.serving()
		<-w.served
	}
	if w.enclosure != nil {
		g.Leave(w.enclosure)
		w.enclosure.Close()
	}
	if w.rules != nil {
		w.version.leaveRules(w.rules)
	}
}
