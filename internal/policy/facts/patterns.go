package facts

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"tipstaff/internal/paths"
	"tipstaff/internal/plainfile"
	"tipstaff/internal/policy"
)

// Bounds of what is looked at for the patterns of one command line.
const (
	maxLooked  = 100_000 // names of directories, and paths
	maxLooking = time.Second
	openCost   = 10 // names, for a directory that is opened
)

// private are the directories of which commands in namespaces have their own, so
// that the machine's say nothing.
var private = []string{"/tmp", "/var/tmp", "/run", "/dev", "/proc"}

// Files returns the files below a directory, for the patterns of one command
// line. What the server may read and a command perhaps not is not looked at:
// nothing outside of that directory, through no link either, and nothing of
// [Options.Secrets]. Of absolute paths it is only known whether their first
// element exists.
func (h *Host) Files(dir policy.Directory) policy.Files {
	f := &files{dir: dir.Path(), end: time.Now().Add(maxLooking)}
	if h.secrets != nil {
		f.secrets = h.secrets()
	}
	f.root, f.fault = openRoot(dir)
	if f.fault != nil {
		f.fault = policy.ErrNotListed
	}
	return f
}

type files struct {
	dir     string // canonical
	root    *os.Root
	fault   error // of root
	secrets []string
	looked  int
	end     time.Time
}

// Close closes the directory.
func (f *files) Close() error {
	if f.root == nil {
		return nil
	}
	return f.root.Close()
}

// List returns the names in a directory, . and .. among them.
func (f *files) List(path string) ([]string, error) {
	if path == "/" {
		return f.top()
	}
	name, err := f.inside(path)
	if name == "" {
		return nil, err
	}
	// Not O_RDONLY alone: to open a FIFO would wait for its writer.
	dir, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|directoryOnly, 0)
	if err != nil {
		return nil, shellError(err)
	}
	defer func() { _ = dir.Close() }()
	if real, err := pathOf(dir, f.dir, name); err != nil || !f.visible(real) {
		return nil, policy.ErrOutside
	}
	return f.read(dir)
}

// top lists the root directory, whose names are no secret.
func (f *files) top() ([]string, error) {
	dir, err := plainfile.OpenDir("/")
	if err != nil {
		return nil, policy.ErrNotListed
	}
	defer func() { _ = dir.Close() }()
	return f.read(dir)
}

// read lists a directory within the bounds.
func (f *files) read(dir *os.File) ([]string, error) {
	names := []string{".", ".."}
	for f.looked += openCost; ; {
		if err := f.CheckBounds(); err != nil {
			return nil, err
		}
		some, err := dir.Readdirnames(1000)
		f.looked += len(some)
		names = append(names, some...)
		switch {
		case errors.Is(err, io.EOF):
			slices.Sort(names)
			return names, nil
		case err != nil:
			return nil, shellError(err)
		}
	}
}

// Exists reports whether there is something at path.
func (f *files) Exists(path string) (bool, error) {
	f.looked += openCost
	if err := f.CheckBounds(); err != nil {
		return false, err
	}
	name, err := f.inside(path)
	if name == "" {
		return false, err
	}
	trimmed := strings.TrimRight(name, "/")
	at := strings.LastIndexByte(trimmed, '/')
	if info, err := f.root.Stat(trimmed[:at]); err == nil && !info.IsDir() {
		return false, nil
	}
	parent, err := f.root.OpenRoot(trimmed[:at])
	if err != nil {
		return false, shellError(err)
	}
	defer func() { _ = parent.Close() }()
	dir, err := parent.Open(".")
	if err != nil {
		return false, shellError(err)
	}
	defer func() { _ = dir.Close() }()
	if real, err := pathOf(dir, f.dir, trimmed[:at]); err != nil || !f.visible(real) {
		return false, policy.ErrOutside
	}
	if trimmed != name {
		info, err := parent.Stat(trimmed[at+1:])
		return err == nil && info.IsDir(), shellError(err)
	}
	_, err = parent.Lstat(trimmed[at+1:])
	return err == nil, shellError(err)
}

// inside returns the path within the command's directory. "" without an error:
// there is no such path.
func (f *files) inside(path string) (string, error) {
	if f.fault != nil {
		return "", f.fault
	}
	if !strings.HasPrefix(path, "/") {
		return "./" + path, nil
	}
	if rest, ok := strings.CutPrefix(path, f.dir+"/"); ok && !strings.Contains(path, "/../") && f.dir != "/" {
		return "./" + rest, nil
	}
	first, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/")
	if _, err := os.Lstat("/" + first); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return "", policy.ErrOutside
}

// visible reports whether a command has the server's own directory at this
// path. Where the sandbox hides it or puts another in its place, the server's
// listing says nothing about the command.
func (f *files) visible(dir string) bool {
	if !paths.Within(dir, f.dir) || slices.ContainsFunc(f.secrets, func(s string) bool { return paths.Within(dir, s) }) {
		return false
	}
	return !slices.ContainsFunc(private, func(p string) bool {
		own := f.dir == p || !paths.Within(f.dir, p) // the command works above that directory, or in it
		return paths.Within(dir, p) && (own || p == "/proc")
	})
}

// CheckBounds returns [policy.ErrTooManyFiles] once too many names were looked
// at, or the search took too long. A caller chooses the pattern, so the server
// must not search without an end.
func (f *files) CheckBounds() error {
	if f.looked > maxLooked || time.Now().After(f.end) {
		return policy.ErrTooManyFiles
	}
	return nil
}

// shellError returns nil for errors that mean the same to a shell: there is no such
// file.
func shellError(err error) error {
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return policy.ErrNotListed
	default:
		return policy.ErrOutside // os.Root does not say it by a value of its own
	}
}
