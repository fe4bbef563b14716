package authn

import (
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// watched is a value read from files, and read again when one of them changes.
// There is no background watcher: each use checks the files, which costs a
// microsecond for each file, misses no change and is never late.
//
// If the files cannot be used, the last good value stays: a mistake in an
// editor must not shut out all callers. The fault is logged once. The value
// also stays where the gate says that a command may have made the change.
type watched[T any] struct {
	what  string // for the log: "tokens file"
	paths []string
	load  func() (T, error)
	gate  Changes // nil: every change is accepted
	log   *slog.Logger

	mu    sync.Mutex
	seen  []stamp
	sure  bool // that seen tells what was read from what comes later
	value T
	fault string
}

// settled is how old a change must be before the files' times distinguish it
// from the next change: file systems record times in steps.
const settled = 2 * time.Second

// stamp identifies one state of a file; the zero stamp is no state.
type stamp struct {
	size     int64
	modified time.Time
	mode     fs.FileMode
	file     fs.FileInfo // identity: a file renamed into its place has another
}

func (s stamp) same(o stamp) bool {
	return s.file != nil && o.file != nil && s.size == o.size && s.mode == o.mode && s.modified.Equal(o.modified) && os.SameFile(s.file, o.file)
}

// Changes says whether changed files may be read again. They may not where a
// command may have changed them.
type Changes interface {
	MayReread(paths ...string) bool
}

// watch loads the value for the first time; files that cannot be used are an
// error here.
func watch[T any](what string, paths []string, gate Changes, log *slog.Logger, load func() (T, error)) (*watched[T], error) {
	w := &watched[T]{what: what, paths: paths, load: load, gate: gate, log: log}
	w.seen = w.stamps()
	w.sure = old(w.seen)
	var err error
	w.value, err = load()
	return w, err
}

// current returns the value of the present files, or the last good one.
func (w *watched[T]) current() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.stamps()
	changed := !sameStamps(w.seen, now)
	if !changed && w.sure || w.gate != nil && !w.gate.MayReread(w.paths...) {
		return w.value
	}
	return w.read(now, changed)
}

// reload reads the files because a person asked for it.
func (w *watched[T]) reload() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.stamps()
	w.read(now, !sameStamps(w.seen, now))
}

// read replaces the value if the files can be used. The caller holds w.mu.
func (w *watched[T]) read(now []stamp, changed bool) T {
	w.seen, w.sure = now, old(now)
	value, err := w.load()
	switch {
	case err != nil:
		if w.fault != err.Error() {
			w.fault = err.Error()
			w.log.Error("changed files cannot be used, what they said before still counts", "what", w.what, "files", w.paths, "error", err)
		}
	case changed || w.fault != "":
		w.fault = ""
		w.log.Info("changed files were read again", "what", w.what, "files", w.paths)
		w.value = value
	default:
		w.value = value
	}
	return w.value
}

func (w *watched[T]) stamps() []stamp {
	all := make([]stamp, len(w.paths))
	for i, path := range w.paths {
		if info, err := os.Stat(path); err == nil {
			all[i] = stamp{size: info.Size(), modified: info.ModTime(), mode: info.Mode(), file: info}
		}
	}
	return all
}

func sameStamps(a, b []stamp) bool {
	for i := range a {
		if !a[i].same(b[i]) {
			return false
		}
	}
	return true
}

// old reports whether the last change of every file is old enough, now, before they
// are read.
func old(all []stamp) bool {
	for _, s := range all {
		if time.Since(s.modified) <= settled {
			return false
		}
	}
	return true
}
