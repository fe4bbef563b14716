package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"tipstaff/internal/policy"
)

// maxAllowlist bounds the file; a list of programs is far smaller.
const maxAllowlist = 1 << 20

// Gate says whether a file that has changed may be read again: not where a command
// may have changed it.
type Gate interface {
	May(paths ...string) bool
}

// allowlistFile is the file of contract B9, read again when it changes and a
// person may have changed it.
type allowlistFile struct {
	path     string
	optional bool
	gate     Gate // nil: all changes are a person's
	log      *slog.Logger

	mu   sync.Mutex
	read bool // once at least
	seen stamp
	list policy.Allowlist
}

// settled is how old a change must be before the file's times can be trusted
// to tell it from the next one: file systems count time in steps.
const settled = 2 * time.Second

// stamp tells one state of a file from another.
type stamp struct {
	size     int64
	modified time.Time
	file     fs.FileInfo // identity: a file renamed into place has another
}

func (s stamp) same(o stamp) bool {
	return s.file != nil && o.file != nil && s.size == o.size && s.modified.Equal(o.modified) && os.SameFile(s.file, o.file)
}

// current gives the list as the file has it now, or had it when it could be
// trusted last; a file that cannot be used allows nothing and says why.
func (f *allowlistFile) current() policy.Allowlist {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err == nil {
		now := stamp{size: info.Size(), modified: info.ModTime(), file: info}
		if now.same(f.seen) && time.Since(now.modified) > settled {
			return f.list
		}
	}
	if f.read && f.gate != nil && !f.gate.May(f.path) {
		return f.list
	}
	return f.load()
}

// reload reads the file because a person says so.
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
	if !info.Mode().IsRegular() {
		return f.broken(errNotRegular)
	}
	now := stamp{size: info.Size(), modified: info.ModTime(), file: info}
	data, err := read(f.path)
	if err != nil {
		return f.broken(err)
	}
	before := f.list.Fault
	f.seen, f.list = now, policy.ParseAllowlistFile(data, f.path)
	if f.list.Fault != "" && f.list.Fault != before {
		f.log.Warn("allowlist file is not usable, nothing is allowed", "file", f.path, "fault", f.list.Fault)
	}
	return f.list
}

var errNotRegular = errors.New("not a regular file")

func (f *allowlistFile) broken(err error) policy.Allowlist {
	fault := reason(err)
	if f.list.Fault != fault {
		f.log.Warn("allowlist file is not usable, nothing is allowed", "file", f.path, "fault", fault)
	}
	f.seen, f.list = stamp{}, policy.Allowlist{Source: f.path, Fault: fault}
	f.list.Absent = f.optional && errors.Is(err, fs.ErrNotExist)
	return f.list
}

// reason says what is wrong without repeating the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxAllowlist+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxAllowlist {
		return nil, fmt.Errorf("larger than %d bytes", maxAllowlist)
	}
	return data, nil
}
