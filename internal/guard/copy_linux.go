//go:build linux

package guard

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Copy fills a directory with what is in another one. It fails where that is too
// large to be kept.
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

// Differs gives the names in two directories, of at most the size that is kept, whose
// content is not the same.
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

// ReadSmall reads a regular file of at most a megabyte. It follows no link, and waits
// for no writer.
func ReadSmall(path string) ([]byte, error) {
	c := read(path, 0)
	if c.form != file || !c.whole() {
		return nil, fmt.Errorf("cannot read %s: there is %s", path, c)
	}
	return c.text, nil
}
