package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Roots are the directories that ALLOWED_CWD_ROOTS names, as they were written.
type Roots struct {
	set   bool
	paths []string
}

// ParseRoots reads a comma-separated list. An empty setting restricts nothing;
// a setting that names no directory at all (",") is broken, and says so when
// it is asked.
func ParseRoots(setting string) Roots {
	r := Roots{set: strings.TrimSpace(setting) != ""}
	for item := range strings.SplitSeq(setting, ",") {
		if item = strings.TrimSpace(item); item != "" {
			r.paths = append(r.paths, item)
		}
	}
	return r
}

var errNoRoots = errors.New("it names no directory")

// canonical resolves every root. One that cannot be resolved makes the whole
// setting invalid: a restriction that is not understood must not be dropped.
func (r Roots) canonical() ([]string, error) {
	if !r.set {
		return nil, nil
	}
	if len(r.paths) == 0 {
		return nil, errNoRoots
	}
	out := make([]string, 0, len(r.paths))
	for _, p := range r.paths {
		c, err := filepath.EvalSymlinks(p)
		if err == nil {
			c, err = filepath.Abs(c)
		}
		if err != nil {
			return nil, fmt.Errorf("root %q: %w", p, err)
		}
		out = append(out, c)
	}
	return out, nil
}
