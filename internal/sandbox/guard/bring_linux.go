//go:build linux

package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errNotWaiting = errors.New("the command no longer waits for it")
	errNewer      = errors.New("it was changed once more meanwhile")
)

// replace makes c the content of a pinned file whose current content is seen.
// If the file has changed since it was read, replace fails, so that no change
// is lost; a further check of the item follows. The caller holds it.mu.
func (g *Guard) replace(it *item, c, seen content, commit func() bool) error {
	if seen.form == file {
		c.owner = seen.owner
	}
	return g.bring(it, c, noBlank, func(from staged, dir int, name string) error {
		if now := readAt(dir, name, 0); now.id != seen.id || !now.same(seen) {
			return errNewer
		}
		if !commit() {
			return errNotWaiting
		}
		if seen.form == directory {
			if err := removeAll(dir, name); err != nil {
				return err
			}
		}
		return unix.Renameat(from.dir, from.name, dir, name)
	})
}

// oust makes the accepted content that of a pinned file, whatever the file
// contains now, so a process that writes all the time cannot delay it. The
// caller holds it.mu.
func (g *Guard) oust(it *item, p *put) error {
	return g.bring(it, it.accepted, p.takeBlank(), func(from staged, dir int, name string) error {
		err := unix.Renameat2(from.dir, from.name, dir, name, unix.RENAME_EXCHANGE)
		switch {
		case errors.Is(err, unix.ENOENT): // the file does not exist
			return unix.Renameat(from.dir, from.name, dir, name)
		case errors.Is(err, unix.EINVAL): // the file system does not support it
			return restoreByTurns(p, from, dir, name)
		case err == nil:
			if err := p.away(from.dir, from.name, name); err != nil {
				g.o.Log.Error("the content that was found in place of a protected file could not be kept", "file", it.Path, "error", err)
			}
		}
		return err
	})
}

// staged is a new file, in an open directory, that is ready to be moved into
// place.
type staged struct {
	dir  int
	name string
}

// bring makes c the content of a pinned file. It creates a new file where no
// command can open it, pins it in every binder, and only then calls take to
// move it into place.
func (g *Guard) bring(it *item, c content, blank int, take func(from staged, dir int, name string) error) error {
	stage, err := openDir(it.Stage)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot open %s: %w", it.Stage, err), closed(blank))
	}
	defer func() { _ = unix.Close(stage) }()
	dir, name, err := openParent(it.Path)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot open the directory of %s: %w", it.Path, err), closed(blank))
	}
	defer func() { _ = unix.Close(dir) }()
	from := staged{stage, ".tipstaff-" + strings.ToLower(rand.Text()[:12])}
	if err := buildFile(stage, from.name, c, blank); err != nil {
		return fmt.Errorf("cannot write a new %s: %w", name, err)
	}
	err = g.bind(it.Stage, from.name, func() error {
		made := readAt(stage, from.name, 0)
		err := take(from, dir, name)
		if err == nil {
			it.accepted, it.replaced, it.bound = made, time.Now(), true
		}
		return err
	})
	if err != nil {
		_ = unix.Unlinkat(stage, from.name, 0)
		return fmt.Errorf("cannot replace %s: %w", it.Path, err)
	}
	return nil
}
