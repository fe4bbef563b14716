package audit

import (
	"os"
	"path/filepath"
	"slices"
)

// claims are what the trails of a directory say about the ends of each other, as far as
// their first checkpoints were read.
type claims struct {
	names   []string // of the trails, in order of their starts
	read    map[string]bool
	byTrail map[string][]predecessor // by the trail that it is said of
}

// claimsAbout returns what later trails say about the end of a trail; nil: none says
// anything. It reads the trails in the order of their starts, from the one that started
// next, and stops at the first that says something: a directory may hold thousands of
// trails.
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
		said, err := Files{}.saidBy(filepath.Join(k.dir, name), k.trust)
		if err != nil {
			continue // verify says what is wrong with it
		}
		for _, p := range said {
			h.byTrail[p.trail] = append(h.byTrail[p.trail], p)
		}
	}
	return h.byTrail[trail]
}
