package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff/internal/paths"
	"tipstaff/internal/policy"
)

// AskUnconfined gives what tells whether commands run without a sandbox, so that they
// may write whatever the server's user may. It is asked when that matters, and may take
// its time: the sandbox is found out behind the start. The first one counts.
func (h *Host) AskUnconfined(ask func() bool) { h.unconfined.CompareAndSwap(nil, &ask) }

// Writable reports whether a command in dir may change what path leads to, put
// something in its place, or write below it: whether the path, on its way or at
// its end, is in a workspace, in the command's directory or the server's own, or
// in one of [Options.Places], or is around one of these. / itself is around
// everything and counts as none. What cannot be told is writable.
//
// The sandbox may know more: of the caches, commands may write those that there
// are, and those of a rule with a stricter profile may write none.
func (h *Host) Writable(path string, dir policy.Directory) bool {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if h.home == "" || rest != "" && rest[0] != '/' {
			return true // another user's
		}
		path = h.home + rest
	}
	if !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
		return true
	}
	places, ok := h.places(dir)
	if !ok {
		return true
	}
	ways, ok := h.ways(path, dir)
	if !ok {
		return true
	}
	for _, way := range ways {
		for _, place := range places {
			if paths.Within(way, place) {
				return true
			}
		}
		if h.isUnconfined() && mayWrite(way) {
			return true
		}
	}
	return slices.ContainsFunc(places, func(place string) bool { return around(ways[len(ways)-1], place) })
}

// around reports whether a directory, but for /, has place below it.
func around(dir, place string) bool { return dir != "/" && paths.Within(place, dir) }

// places are where commands may write.
func (h *Host) places(dir policy.Directory) ([]string, bool) {
	roots, err := h.Roots()
	if err != nil {
		return nil, false
	}
	list := slices.Concat(h.written, roots)
	if dir != nil {
		list = append(list, dir.Path())
	}
	own, err := h.Directory(".")
	if err != nil {
		return nil, false
	}
	defer func() { _ = own.Close() }()
	return append(list, own.Path()), true
}

// ways gives the path and its beginnings, as they are written and with links
// followed; the canonical form of the whole comes last. A link in a place where
// commands may write leads wherever they want.
func (h *Host) ways(path string, dir policy.Directory) ([]string, bool) {
	var list []string
	clean := filepath.Clean(path)
	if strings.Contains(path, "/../") || strings.HasSuffix(path, "/..") {
		clean = "" // .. counts behind a link: the written form says nothing
	}
	for at := clean; at != "" && at != "/"; at = filepath.Dir(at) {
		real, err := h.Canonical(at, dir)
		if err != nil {
			return nil, false
		}
		list = append(list, at, real)
	}
	real, err := h.Canonical(path, dir)
	if err != nil {
		return nil, false
	}
	return append(list, real), true
}

// canonicalPlaces gives paths as they are written and with links followed.
func canonicalPlaces(h *Host, list []string) []string {
	var out []string
	known := prefixes{host: h, canonical: map[string]string{}}
	for _, place := range list {
		if !filepath.IsAbs(place) {
			continue
		}
		clean := filepath.Clean(place)
		out = append(out, clean)
		follow := known.follow
		if clean != place {
			follow = func(string) (string, error) { return h.Canonical(place, nil) } // .. counts behind a link
		}
		if real, err := follow(clean); err == nil {
			out = append(out, real)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prefixes follows the links of many paths that begin alike, and looks at each
// beginning once: a server does so at its start.
type prefixes struct {
	host      *Host
	canonical map[string]string // a path that is clean → with links followed
}

// follow is [Host.Canonical] for a path that is absolute and clean.
func (p prefixes) follow(path string) (string, error) {
	if path == "/" {
		return path, nil
	}
	if real, ok := p.canonical[path]; ok {
		return real, nil
	}
	parent, err := p.follow(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	real := filepath.Join(parent, filepath.Base(path))
	switch info, err := os.Lstat(real); {
	case errors.Is(err, fs.ErrNotExist): // it is kept as it is written
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		if real, err = p.host.Canonical(real, nil); err != nil {
			return "", err
		}
	}
	p.canonical[path] = real
	return real, nil
}

func (h *Host) isUnconfined() bool {
	ask := h.unconfined.Load()
	return ask != nil && (*ask)()
}
