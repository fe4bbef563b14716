package audit

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// verification verifies the trails of one place. It compares them with what other
// places say about them: later trails, and the retention notes about trails that were
// removed.
type verification struct {
	in      Files
	public  string
	kept    keptNotes
	trails  []TrailFiles
	present map[string]bool  // trails that are there, also those that are not verified
	trusted map[string]trust // by the directory that contains the keys

	registers []retirements
	claims    map[string][]predecessor // by the path of the trail that it is said of
}

// retirements are what the retention notes about the removed trails of a directory say.
type retirements struct {
	dir   string
	list  []RetentionNote
	wrong error // about the first one that cannot be believed
}

// choose selects the trails to verify. The others still count as present.
func (v *verification) choose(trails []TrailFiles, only func(trail string) bool) {
	v.present = map[string]bool{}
	for _, t := range trails {
		v.present[t.Path] = true
		if only == nil || only(filepath.Base(t.Path)) {
			v.trails = append(v.trails, t)
		}
	}
}

// alone reports whether a path is that of a trail, of which nothing else is known.
func (v *verification) alone(path string) bool { return len(v.present) == 1 && v.present[path] }

// trust is newTrust, once for each directory.
func (v *verification) trust(above string) (trust, error) {
	if t, ok := v.trusted[above]; ok {
		return t, nil
	}
	t, err := v.in.newTrust(above, v.public)
	if err == nil {
		v.trusted[above] = t
	}
	return t, err
}

// readClaims reads what other trails and retention notes say about the trails in path.
// The trails were listed before: a trail that was retired since is in a note now, so no
// trail is missed.
func (v *verification) readClaims(path string) error {
	for _, t := range v.trails {
		if _, err := v.trust(filepath.Dir(t.Path)); err != nil {
			return err
		}
	}
	v.claims, v.registers = nil, nil
	if v.alone(path) {
		return nil
	}
	v.claims = v.in.claims(v.trails, v.trusted)
	for _, dir := range v.in.withRetired(path) {
		keys, err := v.trust(dir)
		if err != nil {
			return err
		}
		r := retirements{dir: dir}
		if r.list, r.wrong, err = v.in.retired(dir, keys.after); err != nil {
			return err
		}
		v.registers = append(v.registers, r)
	}
	return nil
}

// check verifies the trails and reports those that were removed. A trail may be retired
// while check runs; then its files vanish, and check reads the retention notes again
// instead of reporting a fault.
func (v *verification) check(path string) (reports []TrailReport, err error) {
	statedEnds := map[string][]predecessor{} // what the retention notes say, too: a trail may be put back that was removed
	for _, r := range v.registers {
		for i := range r.list {
			at := filepath.Join(r.dir, r.list[i].Trail)
			statedEnds[at] = append(statedEnds[at], r.list[i].end())
		}
	}
	vanished := 0
	v.trails = slices.DeleteFunc(v.trails, func(t TrailFiles) bool {
		if err != nil {
			return false
		}
		var one TrailReport
		one, err = t.check(v.trusted[filepath.Dir(t.Path)], v.kept.take(t.Path), slices.Concat(v.claims[t.Path], statedEnds[t.Path]))
		if errors.Is(err, fs.ErrNotExist) && v.in.isGone(t.Path) { // retired just now
			vanished, err = vanished+1, nil
			delete(v.present, t.Path)
			return true
		}
		reports = append(reports, one)
		return false
	})
	if err == nil && vanished > 0 {
		err = v.readClaims(path)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range v.registers {
		reports = append(reports, v.removed(r)...)
	}
	return append(reports, v.missing()...), nil
}

func (f Files) isGone(path string) bool {
	_, err := f.lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// missing reports the trails that others speak of and that are neither there nor
// retired. It does so only in a directory that has the private key, because servers
// write all trails there; an archive or a copy has only some.
func (v *verification) missing() (reports []TrailReport) {
	retired := map[string]bool{}
	unread := map[string]bool{} // directories whose retention notes end before their time
	for _, r := range v.registers {
		unread[r.dir] = r.wrong != nil
		for i := range r.list {
			retired[filepath.Join(r.dir, r.list[i].Trail)] = true
		}
	}
	for path := range v.claims {
		dir := filepath.Dir(path)
		if v.present[path] || retired[path] || unread[dir] || v.in.In != nil || v.in.isGone(filepath.Join(dir, keysDir, privateFile)) {
			continue
		}
		v.kept.take(path) // one word will do
		reports = append(reports, TrailReport{Path: path, Status: Tampered, Fault: &Fault{Reason: TrailGone, Seq: 1, File: path}})
	}
	slices.SortFunc(reports, func(a, b TrailReport) int { return strings.Compare(a.Path, b.Path) })
	return reports
}

// end returns what a note about a whole trail says about the end of the trail.
func (s *RetentionNote) end() predecessor {
	return predecessor{trail: s.Trail, seq: s.Through, hash: string(s.chain[:]), closed: s.End == closed, at: s.Time}
}

// denies reports whether what a later trail says about the end of a trail contradicts
// the retention note about it. More records than the claim says are no contradiction: a
// server that was taken for dead may have gone on.
func (p predecessor) denies(s *RetentionNote) bool {
	return p.seq > s.Through || p.seq == s.Through && p.hash != string(s.chain[:]) || p.closed && (s.End != closed || p.seq != s.Through)
}
