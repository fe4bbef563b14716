package landlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Options say what a ruleset restricts. The zero Options make none.
type Options struct {
	// Files restricts every access to files that the ABI knows.
	Files bool
	// NoTCP forbids TCP: to connect and to bind. Nothing allows it again.
	NoTCP bool
	// Scope keeps abstract sockets and signals within the domain.
	Scope bool
	// ABI is 0 for what the kernel has; a lower one than that makes the ruleset
	// behave as on an older kernel.
	ABI int
}

// Version returns the ABI of the running kernel's Landlock, or 0 and why it has
// none. The error is an [errors.ErrUnsupported] if it was built without, does
// not switch it on, or belongs to another system.
func Version() (abi int, err error) {
	abi, err = version()
	if err != nil {
		return 0, fmt.Errorf("no Landlock: %w", err)
	}
	return abi, nil
}

// Ruleset is an open ruleset of the kernel. Rules are added by one goroutine;
// once all are there, any number of children may apply it at once. Its owner
// closes it. A child that has applied it stays confined.
type Ruleset struct {
	fd      int
	handled Effective
}

// New makes a ruleset that allows nothing yet of what it restricts. On a kernel
// that cannot restrict all that was asked for it restricts the rest and says so
// in [Ruleset.Handled]; if nothing would be left, or there is no Landlock, it
// fails.
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

// AllowPath allows what is in a directory and below it, or one file, to be
// accessed. What is allowed is the file that has the name now; one that gets
// the name later is another. What the ruleset does not handle is left out, and
// on a file what only a directory can have.
//
// The path is absolute and clean, and no part of it is a symbolic link (ELOOP):
// a command that may write somewhere could point a link at what it may not
// read, and wait for the next ruleset. Who trusts the links on a path resolves
// them first, and passes on what that gave. A file that does not exist is an
// [io/fs.ErrNotExist].
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

// AllowFD is [Ruleset.AllowPath] for a file that is open, also with O_PATH.
// The descriptor stays the caller's.
func (r *Ruleset) AllowFD(fd int, a Access) error {
	if err := r.allow(fd, a); err != nil {
		return fmt.Errorf("cannot allow descriptor %d: %w", fd, err)
	}
	return nil
}

// allow refuses what can only be a mistake, and leaves out what has no meaning.
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
		return nil // nobody is refused it
	}
	return addRule(r.fd, fd, a)
}

// FD returns the descriptor for landlock_restrict_self, which belongs to the
// ruleset and is closed by exec; -1 after Close.
func (r *Ruleset) FD() int { return r.fd }

// Handled says what the ruleset restricts.
func (r *Ruleset) Handled() Effective { return r.handled }

// Close gives the descriptor back. A second Close does nothing.
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
