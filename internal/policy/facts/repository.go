package facts

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/plainfile"
	"tipstaff/internal/policy"
)

// Repository reads what a push of git depends on, as git would find it: HEAD,
// refs and configurations, without starting git. What it does not understand
// whole makes the repository unknown: a HEAD that is a symbolic link, refs in a
// reftable, a setting about pushes under a condition of includeIf, a file that
// cannot be read.
func (h *Host) Repository(run policy.GitRun) gitpush.Repository {
	r, err := openRepository(run)
	if err != nil {
		return gitpush.Repository{}
	}
	c := configReader{home: run.Home}
	c.globalSettings(run)
	c.repositorySettings(r)
	if c.err != nil {
		return gitpush.Repository{}
	}
	head, err := r.head()
	if err != nil {
		return gitpush.Repository{}
	}
	for i := range c.settings {
		if e := &c.settings[i]; e.Section == "alias" {
			_, err := h.Lookup("git-" + cmp.Or(e.Sub, e.Name))
			e.Program = err == nil
		}
	}
	return gitpush.Repository{Known: true, Head: head, Settings: c.settings, Follow: r.follow}
}

// repository is where git finds the parts of a repository. Both directories are
// the same, except in a linked work tree.
type repository struct {
	dir    string // with HEAD
	common string // with refs and config

	packed *string // the text of packed-refs, once it is read
}

var (
	errNoRepository = errors.New("no repository of git")
	errUnexpected   = errors.New("not understood")
)

// openRepository finds the repository of a command line: setup_git_directory of
// git's setup.c.
func openRepository(run policy.GitRun) (*repository, error) {
	if run.Dir == nil {
		return nil, errNoRepository
	}
	dir := run.Dir.Path()
	for _, d := range run.Location.Dirs {
		if dir = joined(dir, d); dir == "" {
			return nil, errUnexpected
		}
	}
	if at := run.Location.GitDir; at != "" {
		return repositoryAt(joined(dir, at))
	}
	dir, err := filepath.EvalSymlinks(dir) // git goes upwards from where the kernel says that it is
	if err != nil {
		return nil, err
	}
	for {
		at := filepath.Join(dir, ".git")
		if _, err := os.Lstat(at); err == nil {
			return repositoryAt(at)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if isGitDir(dir) {
			return repositoryAt(dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, errNoRepository
		}
		dir = parent
	}
}

// joined is path as seen from dir. It is not cleaned: ".." after a link is
// significant.
func joined(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}

// repositoryAt opens the repository that a directory is, or a file .git names.
func repositoryAt(path string) (*repository, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		text, err := readShort(path)
		named, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
		if err != nil || !ok || named == "" {
			return nil, errUnexpected
		}
		path = joined(filepath.Dir(path), named)
	}
	r := &repository{dir: path, common: path}
	text, err := readShort(filepath.Join(path, "commondir"))
	switch {
	case err == nil:
		r.common = joined(path, strings.TrimRight(text, "\r\n"))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if !isGitDir(r.common) || legacyRemotes(r.common) {
		return nil, errUnexpected
	}
	return r, nil
}

func isGitDir(dir string) bool {
	for _, part := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, part)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// legacyRemotes reports whether there are remotes in files of their own, as git
// had them before its configuration; they have refspecs, too.
func legacyRemotes(dir string) bool {
	for _, name := range []string{"remotes", "branches"} {
		if entries, err := os.ReadDir(filepath.Join(dir, name)); err == nil && len(entries) > 0 {
			return true
		}
	}
	return false
}

// head returns the branch that is checked out, "" without one.
func (r *repository) head() (string, error) {
	target, known := r.follow("HEAD")
	switch {
	case !known:
		return "", errUnexpected
	case strings.HasPrefix(target, "refs/heads/"):
		if target == "refs/heads/.invalid" {
			return "", errUnexpected // of a reftable
		}
		return target, nil
	case target == "HEAD":
		return "", nil
	}
	return "", errUnexpected
}

// perTree are refs that each work tree has for itself.
var perTree = []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"}

// follow is [gitpush.Repository.Follow].
func (r *repository) follow(ref string) (target string, known bool) {
	const deepest = 5 // as git
	for range deepest {
		next, symbolic, known := r.read(ref)
		if !known || next == "" || !symbolic {
			return next, known
		}
		ref = next
	}
	return "", false
}

// read reads one ref: what it is a symbolic ref for, or itself, or "" if there
// is none.
func (r *repository) read(ref string) (next string, symbolic, known bool) {
	if !plainRef(ref) {
		return "", false, true
	}
	for _, other := range []string{"main-worktree/", "worktrees/"} {
		if strings.HasPrefix(ref, other) {
			return "", false, false
		}
	}
	dir := r.dir
	shared := strings.HasPrefix(ref, "refs/") && !slices.ContainsFunc(perTree, func(p string) bool { return strings.HasPrefix(ref, p) })
	if shared {
		dir = r.common
	}
	file := filepath.Join(dir, ref)
	info, err := os.Lstat(file)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return "", false, false // to git it is a symbolic ref
	case err == nil && info.Mode().IsRegular():
		text, err := readShort(file)
		if err != nil {
			return "", false, false
		}
		if to, is := strings.CutPrefix(text, "ref:"); is {
			return strings.TrimSpace(to), true, true
		}
		return ref, false, true
	case err == nil && info.IsDir(), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
	default:
		return "", false, false
	}
	if !shared {
		return "", false, true
	}
	exists, known := r.isPacked(ref)
	if !exists {
		ref = ""
	}
	return ref, false, known
}

// plainRef reports whether a text can be the name of a ref: without parts that
// lead elsewhere, and signs that names do not have.
func plainRef(ref string) bool {
	if ref == "" || len(ref) > 1024 || strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.Contains(ref, "@{") || strings.HasPrefix(ref, "/") {
		return false
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || part[0] == '.' || strings.Contains(part, "..") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(ref, func(c rune) bool { return c < ' ' })
}

// isPacked looks a ref up in packed-refs, in which there are no symbolic ones.
func (r *repository) isPacked(ref string) (packed, known bool) {
	if r.packed == nil {
		text, err := readFile(filepath.Join(r.common, "packed-refs"), maxPacked)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, false
		}
		r.packed = &text
	}
	for rest := *r.packed; ; {
		at := strings.Index(rest, " "+ref)
		if at < 0 {
			return false, true
		}
		rest = rest[at+1+len(ref):]
		if rest == "" || rest[0] == '\n' || rest[0] == '\r' {
			return true, true
		}
	}
}

// Bounds of files of a repository, which commands can write.
const (
	maxShort  = 1 << 16
	maxPacked = 16 << 20
)

// ReadFile implements [policy.FileReader].
func (*Host) ReadFile(path string, most int64) ([]byte, error) {
	text, err := readFile(path, most)
	return []byte(text), err
}

func readShort(path string) (string, error) { return readFile(path, maxShort) }

// readFile reads a regular file of at most so many bytes.
func readFile(path string, most int64) (string, error) {
	data, err := plainfile.Read(path, most)
	if errors.Is(err, plainfile.ErrIrregular) || errors.Is(err, plainfile.ErrTooLarge) {
		err = errUnexpected
	}
	return string(data), err
}
