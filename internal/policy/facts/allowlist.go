package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"tipstaff/internal/plainfile"
	"tipstaff/internal/policy"
)

// maxAllowlist bounds the file; real lists are far smaller.
const maxAllowlist = 1 << 20

// Gate says whether a file that has changed may be read again. It may not if a
// command may have made the change.
type Gate interface {
	MayReread(paths ...string) bool
}

// allowlistFile is the file of contract B9. It is read again when it has
// changed and only a person can have changed it.
type allowlistFile struct {
	path     string
	optional bool
	gate     Gate // nil: only persons make changes
	log      *slog.Logger

	mu    sync.Mutex
	read  bool // it was read at least once
	stamp stamp
	sure  bool // that stamp distinguishes the content that was read from any later one
	list  policy.Allowlist
}

// settled is the age from which on a file's times are certain to differ after
// the next change: file systems record times in steps.
const settled = 2 * time.Second

// stamp identifies one state of a file.
type stamp struct {
	size     int64
	modified time.Time
	file     fs.FileInfo // identity: a file that is renamed into place has another one
}

func (s stamp) same(o stamp) bool {
	return s.file != nil && o.file != nil && s.size == o.size && s.modified.Equal(o.modified) && os.SameFile(s.file, o.file)
}

// current returns the present list of the file, or the last one that could be
// trusted. If the file cannot be used, the list allows nothing and says why.
func (f *allowlistFile) current() policy.Allowlist {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err == nil {
		now := stamp{size: info.Size(), modified: info.ModTime(), file: info}
		if f.sure && now.same(f.stamp) {
			return f.list
		}
	}
	if f.read && f.gate != nil && !f.gate.MayReread(f.path) {
		return f.list
	}
	return f.load()
}

// reload reads the file because a person asked for it.
func (f *allowlistFile) reload() policy.Allowlist {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load()
}

// load reads the file. The caller holds f.mu.
func (f *allowlistFile) load() policy.Allowlist {
	f.read = true
	info, err := os.Stat(f.path)
	if err != nil {
		return f.broken(err)
	}
	now := stamp{size: info.Size(), modified: info.ModTime(), file: info}
	sure := time.Since(now.modified) > settled
	data, err := read(f.path)
	if err != nil {
		return f.broken(err)
	}
	before := f.list.Fault
	f.stamp, f.sure, f.list = now, sure, policy.ParseAllowlistFile(data, f.path)
	if f.list.Fault != "" && f.list.Fault != before {
		f.log.Warn("allowlist file is not usable, nothing is allowed", "file", f.path, "fault", f.list.Fault)
	}
	return f.list
}

func (f *allowlistFile) broken(err error) policy.Allowlist {
	fault := reason(err)
	if f.list.Fault != fault {
		f.log.Warn("allowlist file is not usable, nothing is allowed", "file", f.path, "fault", fault)
	}
	f.stamp, f.list = stamp{}, policy.Allowlist{Source: f.path, Fault: fault}
	f.list.Absent = f.optional && errors.Is(err, fs.ErrNotExist)
	return f.list
}

// reason returns what is wrong without the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// read returns the content of a file, and an error for one that is larger than
// maxAllowlist: half a list must not count as a whole one.
func read(path string) ([]byte, error) {
	data, err := plainfile.Read(path, maxAllowlist)
	if errors.Is(err, plainfile.ErrTooLarge) {
		err = fmt.Errorf("larger than %d bytes", maxAllowlist)
	}
	return data, err
}
