//go:build linux

package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// keep moves what was found to the directory for that, and says where it is.
func (g *Guard) keep(it *item, p *put) (aside string, err error) {
	var list []string
	for _, m := range p.moved {
		fd := int(m.dir.Fd())
		to, failure := g.keepCopy(it, m.name, readAt(fd, m.temp, 0))
		if failure := errors.Join(failure, removeAll(fd, m.temp), m.dir.Close()); failure != nil {
			err = errors.Join(err, fmt.Errorf("cannot keep what was found: %w", failure))
		}
		if to != "" {
			list = append(list, to)
		}
	}
	return strings.Join(list, ", "), err
}

// mostKept is how many copies are kept of what a command writes to one item again and
// again.
const mostKept = 64

// keepCopy writes what was found to the directory for that. What is too large or is no
// file is not copied: the report says what it was.
func (g *Guard) keepCopy(it *item, name string, found content) (string, error) {
	if found.form == nothing || !found.whole() || it.kept >= mostKept {
		return "", nil
	}
	it.kept++
	if err := os.MkdirAll(g.o.Aside, 0o700); err != nil {
		return "", err
	}
	aside, err := openDir(g.o.Aside)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(aside) }()
	to := strings.TrimPrefix(name, ".") + "-" + strings.ToLower(rand.Text()[:8])
	if found.form == file {
		found.mode &= 0o666 // it is to be read, not run
	}
	if err := build(aside, to, found, noBlank); err != nil {
		return "", err
	}
	return filepath.Join(g.o.Aside, to), nil
}
