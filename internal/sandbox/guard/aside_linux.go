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

// keep moves the content that was found to the aside directory and returns its
// new path.
func (g *Guard) keep(it *item, p *put) (aside string, err error) {
	var list []string
	for _, m := range p.moved {
		fd := int(m.dir.Fd())
		to, failure := g.keepCopy(it, m.name, readAt(fd, m.temp, 0))
		if failure := errors.Join(failure, removeAll(fd, m.temp), m.dir.Close()); failure != nil {
			err = errors.Join(err, fmt.Errorf("cannot keep the content that was found: %w", failure))
		}
		if to != "" {
			list = append(list, to)
		}
	}
	return strings.Join(list, ", "), err
}

// mostKept bounds the copies that are kept of one item, because a command may
// write it repeatedly.
const mostKept = 64

// keepCopy writes a copy of the content that was found to the aside directory.
// Content that is too large, or that is not a file, is not copied: the report
// describes it instead.
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
		found.mode &= 0o666 // a copy is for reading, not for running
	}
	if err := build(aside, to, found, noBlank); err != nil {
		return "", err
	}
	return filepath.Join(g.o.Aside, to), nil
}
