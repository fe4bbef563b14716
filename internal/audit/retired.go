package audit

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// retiredFile is a file beside the trails with the retention notes about trails that
// were removed as a whole, which have no directory any more. It has the form of a
// trail's own retention notes.
const retiredFile = "retired"

// RetiredTrails returns the retention notes about the trails that were removed from a
// directory, the oldest first. It does not check their signatures.
func (f Files) RetiredTrails(dir string) ([]RetentionNote, error) {
	list, _, err := f.retired(dir, nil)
	return list, err
}

// retired reads the retention notes about removed trails. wrong is about the first one
// that cannot be believed, err about a file that cannot be read.
func (f Files) retired(dir string, keys func(string) []string) (list []RetentionNote, wrong, err error) {
	data, err := f.readText(filepath.Join(dir, retiredFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if errors.Is(err, errIrregular) {
		return nil, err, nil
	}
	if err != nil {
		return nil, nil, err
	}
	list, _, _, wrong = parseRetentionNotes(data, keys)
	for i := range list {
		if list[i].Act != Retired || !list[i].Whole() {
			return list[:i], errNoRetentionNote, nil
		}
	}
	return list, wrong, nil
}

// removed reports the trails that were removed from a directory. It compares their
// retention notes with checkpoints that were kept elsewhere, and with what later trails
// say. It leaves out trails that are there, which are verified themselves.
func (v *verification) removed(r retirements) (reports []TrailReport) {
	last := map[string]int{}
	for i := range r.list {
		last[r.list[i].Trail] = i
	}
	file := filepath.Join(r.dir, retiredFile)
	for i, s := range r.list {
		path := filepath.Join(r.dir, s.Trail)
		if v.present[path] {
			continue
		}
		one := TrailReport{
			Path: path, Status: OK, Records: s.Through, First: s.First, Last: s.Last,
			Key: s.Key, Signed: s.Through, Closed: s.End == closed, Retained: &Retained{[]RetentionNote{s}},
		}
		blame := func(why Reason) {
			one.Status, one.Fault = Tampered, &Fault{Reason: why, Seq: s.Through + 1, File: file, Line: 1}
		}
		if last[s.Trail] == i && slices.ContainsFunc(v.claims[path], func(p predecessor) bool { return p.denies(&s) }) {
			blame(Contradicted)
		}
		for _, msg := range v.kept.take(path) {
			if s.contradicts(msg) {
				blame(RolledBack)
			}
		}
		reports = append(reports, one)
	}
	if r.wrong != nil {
		reports = append(reports, TrailReport{Path: file, Status: Tampered, Fault: &Fault{Reason: BadStatement, Seq: 1, File: file, Line: 1}})
	}
	slices.SortStableFunc(reports, func(a, b TrailReport) int { return strings.Compare(a.Path, b.Path) })
	return reports
}

// contradicts reports whether a checkpoint that was kept elsewhere is not of the
// records of which the note speaks, or of more.
func (s *RetentionNote) contradicts(msg []byte) bool {
	known, err := verifiers(s.Key)
	if err != nil {
		return true
	}
	c, err := openCheckpoint(msg, known)
	return err != nil || c.Size > s.Through || c.Size == s.Through && c.Root != s.Root
}

// withRetired returns the directories with trails that were removed: dir, and those in
// it that are no trails.
func (f Files) withRetired(dir string) (list []string) {
	if IsTrail(dir) {
		return nil
	}
	has := func(dir string) bool {
		_, err := f.lstat(filepath.Join(dir, retiredFile))
		return err == nil
	}
	if has(dir) {
		list = append(list, dir)
	}
	entries, err := f.ReadDir(dir)
	if err != nil {
		return list
	}
	for _, e := range entries {
		if below := filepath.Join(dir, e.Name()); e.IsDir() && !IsTrail(below) && has(below) {
			list = append(list, below)
		}
	}
	return list
}

// verifyRetired verifies a trail that is not there, by the retention note about it. If
// there is none, it returns missing, the error of the file system.
func (f Files) verifyRetired(path string, o VerifyOptions, missing error) (report Report, err error) {
	if path, err = f.whole(path); err != nil {
		return report, err
	}
	kept, err := parseKept(o.Since)
	if err != nil {
		return report, err
	}
	v := verification{in: f, public: o.Public, kept: kept, trusted: map[string]trust{}}
	keys, err := v.trust(filepath.Dir(path))
	if err != nil {
		return report, err
	}
	r := retirements{dir: filepath.Dir(path)}
	if r.list, r.wrong, err = f.retired(r.dir, keys.after); err != nil {
		return report, err
	}
	for _, one := range v.removed(r) {
		if one.Path == path || filepath.Base(one.Path) == retiredFile {
			report.Trails = append(report.Trails, one)
		}
	}
	if len(report.Trails) == 0 {
		return report, missing
	}
	return report, nil
}
