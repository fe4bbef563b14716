package own

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Walls say how commands are confined. The zero Walls are the weakest that confine
// at all.
type Walls struct {
	// None: commands are not confined. They could do to the server whatever its
	// user can; nothing is kept from them, and all files are followed.
	None bool
	// Mounts: what is to stay as it is, is mounted read-only on itself.
	Mounts bool
}

// Keeper knows tipstaff's own files. Its methods may be called by many goroutines
// at once. A nil Keeper knows none, and lets all files be read again.
type Keeper struct {
	log   *slog.Logger
	again string // how a person has a file read again

	mu       sync.Mutex
	walls    func() Walls // nil: not known, so the weakest
	files    []*kept
	writable []string
	bare     bool // commands may write everything that their user may
}

// New follows the paths of files. again says how a person has them read again, as
// "restart the server". Close lets go of what is held.
func New(files []File, again string, log *slog.Logger) *Keeper {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{log: log, again: again}
	k.Add(files...)
	return k
}

// Add makes the Keeper know more files. One that it knows stays as it is, but for
// the stricter of both kinds.
func (k *Keeper) Add(files ...File) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range files {
		if known := k.find(f.Path); known != nil {
			known.Kind = min(known.Kind, f.Kind)
			continue
		}
		k.add(f)
	}
}

// add takes up a file. The caller holds k.mu.
func (k *Keeper) add(f File) *kept {
	f.Path = Absolute(f.Path)
	one := &kept{File: f}
	one.settle()
	if f.Dir {
		one.first = one.way.target
	}
	k.files = append(k.files, one)
	return one
}

func (k *Keeper) find(path string) *kept {
	path = Absolute(path)
	for _, f := range k.files {
		if f.Path == path {
			return f
		}
	}
	return nil
}

// Confine tells how commands are confined. walls is asked when it matters, and may
// wait until it is known.
func (k *Keeper) Confine(walls func() Walls) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.walls = walls
}

// Opened tells that commands may write in these directories, canonical, from now
// on; bare says that they may write everything that their user may. It logs which
// files are not followed therefore. It has to be called before the first command
// can write there.
func (k *Keeper) Opened(dirs []string, bare bool, walls Walls) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, dir := range dirs {
		if !slices.Contains(k.writable, dir) {
			k.writable = append(k.writable, dir)
		}
	}
	k.bare = k.bare || bare
	r := k.reach(walls)
	for _, f := range k.files {
		if why := f.risk(r); why != "" && !f.told {
			f.told = true
			k.log.Warn("commands may change this file of tipstaff's own, so it is read at the start and when a person says so, not when it changes",
				"file", f.Path, "setting", f.Setting, "why", why, "to_read_it_again", k.again, "advice", Advice)
		}
	}
}

// Advice says where tipstaff's own files belong.
const Advice = "move it out of the directories that commands may write, to ~/.config/tipstaff or /etc/tipstaff; or, in the tier namespaces, into a directory .tipstaff"

// reach gives what commands can change. The caller holds k.mu.
func (k *Keeper) reach(walls Walls) reach {
	if walls.None {
		return reach{}
	}
	r := reach{writable: k.writable}
	if k.bare {
		r.writable = []string{string(filepath.Separator)}
	}
	for _, f := range k.files {
		if !f.Dir || f.first == nil || !walls.Mounts && (k.bare || f.Kind == Steering) {
			continue
		}
		if now, err := os.Stat(f.Path); err == nil && os.SameFile(now, f.first) {
			r.closed = append(r.closed, f.way.at)
		}
	}
	return r
}

// Settle takes all files as they are now, because a person says so.
func (k *Keeper) Settle() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		if now := stampOf(f.Path); f.risk(k.reach(Walls{})) != "" && !now.same(f.settled) {
			k.log.Info("a file that commands may change is taken as it is now", "file", f.Path, "setting", f.Setting)
		}
		f.settle()
	}
}

// Close lets go of what is held.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		for _, h := range f.held {
			_ = h.file.Close()
		}
		f.held = nil
	}
}
