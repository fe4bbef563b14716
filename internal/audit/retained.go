package audit

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/audit/seekable"
)

// retentionFile is the file of a trail's retention notes.
const retentionFile = "retention"

// retention is what the retention notes of one trail say.
type retention struct {
	list []RetentionNote
	err  error // about the first note that cannot be believed; nil: all can

	byFile map[string]int // index of the last note about a file, by its name
}

// retention reads the retention notes of a trail. keys says which keys may speak for
// the key of a trail; with nil it checks no signature, for readers that do not verify.
// A note that cannot be believed is in retention.err and ends the list; err is for
// files that cannot be read.
func (f Files) retention(trail string, keys func(string) []string) (retention, error) {
	data, err := f.readText(filepath.Join(trail, retentionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return retention{}, nil
	}
	if errors.Is(err, errIrregular) {
		return retention{err: err}, nil
	}
	if err != nil {
		return retention{}, err
	}
	var r retention
	r.list, _, _, r.err = parseRetentionNotes(data, keys)
	r.byFile = map[string]int{}
	for i := range r.list {
		if s := &r.list[i]; s.Trail != filepath.Base(trail) && trailName().MatchString(filepath.Base(trail)) {
			r.list, r.err = r.list[:i], errNoRetentionNote // of another trail
			break
		}
		for _, file := range slices.Concat(r.list[i].Segments, r.list[i].Files) {
			r.byFile[file.Name] = i
		}
	}
	return r, nil
}

// noteOf returns the last note about a file; nil: there is none.
func (r *retention) noteOf(name string) *RetentionNote {
	if i, ok := r.byFile[name]; ok && i < len(r.list) {
		return &r.list[i]
	}
	return nil
}

// archived returns the segments that lie in an archive, as far as is stated.
func (r *retention) archived() (names []string) {
	for name := range r.byFile {
		if s := r.noteOf(name); s != nil && s.Act == Archived && IsSegment(name) {
			names = append(names, name)
		}
	}
	return names
}

// retired reports whether a segment was retired. A file under its name is not that
// segment.
func (r *retention) retired(name string) bool {
	s := r.noteOf(name)
	return s != nil && s.Act == Retired
}

// storageDirs returns the directories where the files of a trail may be, packed or not:
// its own, those that the reader names, and those that its retention notes name, the
// latest first.
func (f Files) storageDirs(trail string, r *retention) []string {
	name := filepath.Base(trail)
	list := []string{trail}
	for _, dir := range f.Archives {
		list = append(list, filepath.Join(dir, name))
	}
	for _, s := range slices.Backward(r.list) {
		if s.Act == Archived {
			list = append(list, filepath.Join(s.To, name))
		}
	}
	return slices.Compact(list)
}

// split says to which trail a file belongs, and its name in there. ok is false for a
// file that is never in an archive.
func split(path string) (trail, name string, ok bool) {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	if IsSegment(base) || base == checkpointsFile {
		return dir, base, true
	}
	if IsTrail(filepath.Dir(dir)) && plainName(base) {
		return filepath.Dir(dir), filepath.Base(dir) + "/" + base, true
	}
	return "", "", false
}

// stored finds a file of a trail: at its own path, packed beside it, or in an archive.
// It returns the path there, and whether the file is packed. The error is
// [fs.ErrNotExist] if it is nowhere.
func (f Files) stored(path string) (at string, packed bool, err error) {
	_, missing := f.stat(path) // as the system says it
	if missing == nil {
		missing = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	trail, name, ok := split(path)
	if !ok {
		return "", false, missing
	}
	r, err := f.retention(trail, nil)
	if err != nil {
		return "", false, err
	}
	for _, dir := range f.storageDirs(trail, &r) {
		for _, end := range []string{"", seekable.Extension} {
			at := filepath.Join(dir, filepath.FromSlash(name)) + end
			info, err := f.lstat(at)
			if err == nil && info.Mode().IsRegular() {
				return at, end != "", nil
			}
		}
	}
	return "", false, missing
}

// withArchived completes the segments that are in the directory of a trail. It adds
// those that are packed there or in an archive, and leaves out those that were retired.
func (f Files) withArchived(dir string, entries []fs.DirEntry, segments []string) ([]string, error) {
	stated := false
	for _, e := range entries {
		if name, packed := strings.CutSuffix(e.Name(), seekable.Extension); packed && IsSegment(name) {
			segments = append(segments, filepath.Join(dir, name))
		}
		stated = stated || e.Name() == retentionFile
	}
	if stated {
		r, err := f.retention(dir, nil)
		if err != nil {
			return nil, err
		}
		for _, name := range r.archived() {
			segments = append(segments, filepath.Join(dir, name))
		}
		segments = slices.DeleteFunc(segments, func(path string) bool { return r.retired(filepath.Base(path)) })
	}
	slices.Sort(segments)
	return slices.Compact(segments), nil
}

// RetiredFile returns the retention note by which a file was removed from a trail, nil
// if no note says so. The file must not be a segment. It does not check the signature
// of the note.
func (f Files) RetiredFile(trail, name string) (*RetentionNote, error) {
	r, err := f.retention(trail, nil)
	if err != nil {
		return nil, err
	}
	if s := r.noteOf(name); s != nil && s.Act == Retired {
		return s, nil
	}
	return nil, nil //nolint:nilnil // no retention note is no fault
}

// AttachedFile is a file of a trail that is no segment.
type AttachedFile struct {
	Path  string // where it would lie if the trail was not archived
	Bytes int64
	Time  time.Time // of its last change; when it was archived, if it was
}

// Below lists the files in a directory of a trail, such as its recordings, in the trail
// and in archives.
func (f Files) Below(trail, dir string) (list []AttachedFile, err error) {
	entries, err := f.ReadDir(filepath.Join(trail, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			list = append(list, AttachedFile{filepath.Join(trail, dir, e.Name()), info.Size(), info.ModTime()})
		}
	}
	r, err := f.retention(trail, nil)
	if err != nil {
		return nil, err
	}
	for i := range r.list {
		s := &r.list[i]
		for _, file := range s.Files {
			path := filepath.Join(trail, filepath.FromSlash(file.Name))
			listed := slices.ContainsFunc(list, func(l AttachedFile) bool { return l.Path == path })
			if s.Act == Archived && r.noteOf(file.Name) == s && strings.HasPrefix(file.Name, dir+"/") && !listed {
				list = append(list, AttachedFile{path, file.Bytes, s.Time})
			}
		}
	}
	return list, nil
}

// Archive returns the directory that a segment was archived to, as a retention note
// says it; "" if none does. It does not check the signature of the note.
func (f Files) Archive(segment string) (string, error) {
	r, err := f.retention(filepath.Dir(segment), nil)
	if err != nil {
		return "", err
	}
	if s := r.noteOf(filepath.Base(segment)); s != nil && s.Act == Archived {
		return s.To, nil
	}
	return "", nil
}
