package profile

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ControlAllowed reports whether one of the operator's patterns matches a path of a
// work tree, relative to its top: * and ? stand for text without a slash, ** for any
// number of directories, and dir/** also matches dir itself.
func ControlAllowed(patterns []string, rel string) bool {
	parts := strings.Split(path.Clean(filepath.ToSlash(rel)), "/")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return matchParts(strings.Split(path.Clean(pattern), "/"), parts)
	})
}

func matchParts(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == "**":
		return matchParts(pattern[1:], parts) || len(parts) > 0 && matchParts(pattern, parts[1:])
	case len(parts) == 0:
		return false
	}
	ok, err := path.Match(pattern[0], parts[0])
	return ok && err == nil && matchParts(pattern[1:], parts[1:])
}

// allowed reports whether the operator lets commands write a path of a work
// tree.
func (r *resolver) allowed(file string, tops []string) bool {
	return len(r.m.Control) > 0 && slices.ContainsFunc(tops, func(top string) bool {
		rel, err := filepath.Rel(top, file)
		return err == nil && below(file, top) && ControlAllowed(r.m.Control, rel)
	})
}
