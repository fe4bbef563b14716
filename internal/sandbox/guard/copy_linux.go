//go:build linux

package guard

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Copy copies the content of one directory into another. It fails if the
// content exceeds the bounds of what the guard keeps.
func Copy(from, to string) error {
	c := read(from, 0)
	if c.form != directory || !c.whole() {
		return fmt.Errorf("cannot copy %s: it is %s, or too large", from, c)
	}
	fd, err := openDir(to)
	if err != nil {
		return fmt.Errorf("cannot copy %s: %w", from, err)
	}
	defer func() { _ = unix.Close(fd) }()
	for name, in := range c.names {
		if err := build(fd, name, in, noBlank); err != nil {
			return fmt.Errorf("cannot copy %s: %w", from, err)
		}
	}
	return nil
}

// Differs returns the names in two directories whose contents differ. Files
// that are too large to be kept are compared by size and time of change.
func Differs(a, b string) (names []string) {
	x, y := read(a, 0), read(b, 0)
	for name := range x.names {
		if !x.names[name].same(y.names[name]) {
			names = append(names, name)
		}
	}
	for name := range y.names {
		if _, both := x.names[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ReadSmall reads a regular file of at most 1 MiB. It follows no symbolic link,
// and does not block on a FIFO.
func ReadSmall(path string) ([]byte, error) {
	c := read(path, 0)
	if c.form != file || !c.whole() {
		return nil, fmt.Errorf("cannot read %s: there is %s", path, c)
	}
	return c.text, nil
}
