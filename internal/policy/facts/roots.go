package facts

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Roots are the directories of ALLOWED_CWD_ROOTS, as written.
type Roots struct {
	set   bool
	paths []string
}

// ParseRoots parses a comma-separated list. An empty setting restricts nothing.
// A setting without any directory (",") is invalid, which Host.Roots reports.
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

// canonical resolves every root. If one cannot be resolved, the whole setting
// is invalid, because a restriction that cannot be understood must not be
// dropped.
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
