package protected

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Confinement says how commands are confined. The zero Confinement is the weakest
// confinement.
type Confinement struct {
	// None: commands are not confined. They have the same power over the server
	// as its user, so nothing is kept from them, and all files are followed.
	None bool
	// Mounts: files that must not change are mounted read-only on themselves.
	Mounts bool
}

// Registry keeps track of tipstaff's own files. Its methods may be called
// concurrently. A nil Registry has no files, and allows all files to be read
// again.
type Registry struct {
	log   *slog.Logger
	again string // how a person makes the server read a file again

	mu          sync.Mutex
	confinement func() Confinement // nil: unknown, so the weakest are assumed
	files       []*trackedFile
	writable    []string
	bare        bool // commands may write all files that their user may
}

// New follows the paths of files. again tells a person how to have them read
// again, such as "restart the server". Close releases the handles.
func New(files []File, again string, log *slog.Logger) *Registry {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	k := &Registry{log: log, again: again}
	k.Add(files...)
	return k
}

// Add adds files. A file that is known already stays, but gets the stricter of
// both kinds.
func (k *Registry) Add(files ...File) {
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

// add registers a file. The caller holds k.mu.
func (k *Registry) add(f File) *trackedFile {
	f.Path = Absolute(f.Path)
	one := &trackedFile{File: f}
	one.accept()
	if f.Dir {
		one.identity = one.resolution.target
	}
	k.files = append(k.files, one)
	return one
}

func (k *Registry) find(path string) *trackedFile {
	path = Absolute(path)
	for _, f := range k.files {
		if f.Path == path {
			return f
		}
	}
	return nil
}

// Confine sets the function that returns how commands are confined. It is
// called when that is needed, and may block until it is known.
func (k *Registry) Confine(confinement func() Confinement) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.confinement = confinement
}

// AddWritable says that commands may write in these canonical directories from now
// on; bare says that they may write everything that their user may. It must be
// called before the first command can write there. It logs which files are
// therefore not followed.
func (k *Registry) AddWritable(dirs []string, bare bool, confinement Confinement) {
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
	r := k.reach(confinement)
	for _, f := range k.files {
		if why := f.risk(r); why != "" && !f.warned {
			f.warned = true
			k.log.Warn("commands may change this file of tipstaff's own, so it is read at the start and when a person says so, not when it changes",
				"file", f.Path, "setting", f.Setting, "why", why, "to_read_it_again", k.again, "advice", Advice)
		}
	}
}

// Advice says where tipstaff's own files should be.
const Advice = "move it out of the directories that commands may write, to ~/.config/tipstaff or /etc/tipstaff; or, in the tier namespaces, into a directory .tipstaff"

// reach returns what commands can change. The caller holds k.mu.
func (k *Registry) reach(confinement Confinement) reach {
	if confinement.None {
		return reach{}
	}
	r := reach{writable: k.writable}
	if k.bare {
		r.writable = []string{string(filepath.Separator)}
	}
	for _, f := range k.files {
		if !f.Dir || f.identity == nil || !confinement.Mounts && (k.bare || f.Kind == Steering) {
			continue
		}
		if now, err := os.Stat(f.Path); err == nil && os.SameFile(now, f.identity) {
			r.closed = append(r.closed, f.resolution.path)
		}
	}
	return r
}

// Accept accepts the present state of all files, because a person asked for it.
func (k *Registry) Accept() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		if now := stampOf(f.Path); f.risk(k.reach(Confinement{})) != "" && !now.same(f.accepted) {
			k.log.Info("a file that commands may change is taken as it is now", "file", f.Path, "setting", f.Setting)
		}
		f.accept()
	}
}

// Close releases the handles.
func (k *Registry) Close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		for _, h := range f.handles {
			_ = h.file.Close()
		}
		f.handles = nil
	}
}
