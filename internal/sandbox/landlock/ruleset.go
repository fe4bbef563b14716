package landlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Options say what a ruleset restricts. New fails with the zero Options.
type Options struct {
	// Files restricts all file operations that the ABI knows.
	Files bool
	// NoTCP forbids connecting and binding with TCP. No rule can allow it
	// again.
	NoTCP bool
	// Scope restricts abstract sockets and signals to the domain.
	Scope bool
	// ABI makes the ruleset behave as on an older kernel; 0 means the kernel's
	// own ABI.
	ABI int
}

// Version returns the ABI of the running kernel's Landlock, or 0 and an error.
// The error is [errors.ErrUnsupported] if the kernel was built without Landlock
// or does not enable it, and on other systems.
func Version() (abi int, err error) {
	abi, err = version()
	if err != nil {
		return 0, fmt.Errorf("no Landlock: %w", err)
	}
	return abi, nil
}

// Ruleset is an open ruleset of the kernel. One goroutine adds rules; after
// that, any number of children may apply it at once. The caller closes it. A
// child that has applied it stays restricted.
type Ruleset struct {
	fd      int
	handled Effective
}

// New makes a ruleset that does not yet allow anything that it restricts. On a
// kernel that cannot restrict all that was asked for, it restricts the rest and
// reports that in [Ruleset.Handled]. It fails if nothing would be restricted,
// or if there is no Landlock.
func New(o Options) (*Ruleset, error) {
	abi, err := Version()
	if err != nil {
		return nil, fmt.Errorf("cannot make a ruleset: %w", err)
	}
	e, err := o.effective(abi)
	if err != nil {
		return nil, fmt.Errorf("cannot make a ruleset: %w", err)
	}
	fd, err := create(e)
	if err != nil {
		return nil, fmt.Errorf("cannot make a ruleset: %w", err)
	}
	return &Ruleset{fd, e}, nil
}

// AllowPath allows operations on a file, or on a directory and everything below
// it. The rule applies to the file that has this path now, not to one that gets
// the path later. Operations that the ruleset does not handle are ignored, and
// so are, on a file, those that only a directory supports.
//
// The path must be absolute and clean, and no element of it may be a symbolic
// link (ELOOP): a command with write access could replace an element by a link
// to a file that it may not read, and wait for the next ruleset. A caller that
// trusts the links resolves them first. If the file does not exist, the error
// is [io/fs.ErrNotExist].
func (r *Ruleset) AllowPath(path string, a Access) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("cannot allow %q: the path is not absolute and clean", path)
	}
	fd, err := openPath(path)
	if err != nil {
		return fmt.Errorf("cannot allow %q: %w", path, err)
	}
	err = r.allow(fd, a)
	closeErr := closeFD(fd)
	if err := errors.Join(err, closeErr); err != nil {
		return fmt.Errorf("cannot allow %q: %w", path, err)
	}
	return nil
}

// AllowFD is [Ruleset.AllowPath] for a file that is open, possibly with O_PATH.
// The caller still owns the descriptor.
func (r *Ruleset) AllowFD(fd int, a Access) error {
	if err := r.allow(fd, a); err != nil {
		return fmt.Errorf("cannot allow descriptor %d: %w", fd, err)
	}
	return nil
}

// allow refuses arguments that must be mistakes, and ignores operations without
// a meaning.
func (r *Ruleset) allow(fd int, a Access) error {
	switch {
	case r.fd < 0:
		return fmt.Errorf("the ruleset: %w", os.ErrClosed)
	case a == 0 || a&^every != 0:
		return fmt.Errorf("%v cannot be allowed", a)
	case r.handled.Files == 0:
		return errors.New("the ruleset does not restrict files")
	}
	directory, err := isDirectory(fd)
	if err != nil {
		return err
	}
	if !directory {
		if a&File == 0 {
			return fmt.Errorf("%v has no meaning for what is not a directory", a)
		}
		a &= File
	}
	if a &= r.handled.Files; a == 0 {
		return nil // the operation is not restricted
	}
	return addRule(r.fd, fd, a)
}

// FD returns the descriptor for landlock_restrict_self. It belongs to the
// ruleset and has close-on-exec set; -1 after Close.
func (r *Ruleset) FD() int { return r.fd }

// Handled returns what the ruleset restricts.
func (r *Ruleset) Handled() Effective { return r.handled }

// Close closes the descriptor. A second Close does nothing.
func (r *Ruleset) Close() error {
	if r.fd < 0 {
		return nil
	}
	fd := r.fd
	r.fd = -1
	if err := closeFD(fd); err != nil {
		return fmt.Errorf("cannot close a ruleset: %w", err)
	}
	return nil
}
