package audit

import (
	"os"
	"path/filepath"
	"slices"
)

// claims is what the trails of a directory say of each other, as far as they were
// asked.
type claims struct {
	names   []string // of the trails, in order of their starts
	read    map[string]bool
	byTrail map[string][]predecessor // by the trail that it is said of
}

// claimsAbout returns what a later trail says of how a trail ended; nil: none says anything.
// Mostly that is the one that started next, so the others are not read.
func (k *Keeper) claimsAbout(trail string) []predecessor {
	h := &k.claims
	if h.read == nil {
		h.read, h.byTrail = map[string]bool{}, map[string][]predecessor{}
		entries, _ := os.ReadDir(k.dir) // what cannot be listed cannot be retired, either
		for _, e := range entries {
			if e.IsDir() && IsTrail(e.Name()) {
				h.names = append(h.names, e.Name())
			}
		}
	}
	at, _ := slices.BinarySearch(h.names, trail)
	for i := range h.names {
		name := h.names[(at+i)%len(h.names)]
		if len(h.byTrail[trail]) > 0 {
			break
		}
		if h.read[name] {
			continue
		}
		h.read[name] = true
		c, err := Files{}.firstOf(filepath.Join(k.dir, name), k.trust)
		if err != nil {
			continue // verify says what is wrong with it
		}
		for _, p := range c.before {
			p.at = c.Time
			h.byTrail[p.trail] = append(h.byTrail[p.trail], p)
		}
	}
	return h.byTrail[trail]
}
