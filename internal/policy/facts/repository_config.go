package facts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"tipstaff/internal/command/gitconfig"
	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/policy"
)

// configReader reads configurations of git in git's order, and keeps what
// pushes depend on.
type configReader struct {
	home     string
	settings []gitpush.Setting
	err      error
	read     int
}

const (
	maxConfigs     = 64 // files that one repository may take in
	deepestInclude = 10 // as git
)

// globalSettings reads the configurations of the machine and of the user. Where git
// finds the machine's own was decided when git was built; the program's place
// says it for the usual ones.
func (c *configReader) globalSettings(run policy.GitRun) {
	switch bin := filepath.Dir(run.Program); bin {
	case "/usr/bin", "/bin":
		c.file("/etc/gitconfig", 0, false)
	case "/usr/local/bin":
		c.file("/usr/local/etc/gitconfig", 0, false)
	default:
		c.err = errUnexpected
	}
	if run.ConfigHome != "" {
		c.file(filepath.Join(run.ConfigHome, "git/config"), 0, false)
	} else if c.home != "" {
		c.file(filepath.Join(c.home, ".config/git/config"), 0, false)
	}
	if c.home != "" {
		c.file(filepath.Join(c.home, ".gitconfig"), 0, false)
	}
}

// repositorySettings reads the configuration of a repository, and that of its work tree.
func (c *configReader) repositorySettings(r *repository) {
	entries := c.file(filepath.Join(r.common, "config"), 0, false)
	for _, e := range entries {
		if e.Section == "extensions" && e.Name == "refstorage" && !strings.EqualFold(e.Value, "files") {
			c.err = errUnexpected
		}
	}
	if gitconfig.SettingsOf(entries).WorktreeConfig {
		c.file(filepath.Join(r.dir, "config.worktree"), 0, false)
	}
}

// file reads one configuration with what it includes. Below an includeIf
// (perhaps) nothing about pushes may stand: its condition is not judged.
func (c *configReader) file(path string, depth int, perhaps bool) []gitconfig.Entry {
	if c.err != nil {
		return nil
	}
	c.read++ // also where there is none: there could be thousands of those
	if c.read > maxConfigs || depth > deepestInclude {
		c.err = errUnexpected
		return nil
	}
	text, err := readFile(path, maxTrusted)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	entries, parseErr := gitconfig.Parse([]byte(text))
	if c.err = errors.Join(err, parseErr); c.err != nil {
		c.err = errUnexpected
		return nil
	}
	for i := range entries {
		e := &entries[i]
		conditional := e.Section == "includeif"
		switch {
		case e.Name == "path" && (conditional || e.Section == "include" && !e.HasSub):
			if to, ok := c.included(path, e.Value); ok {
				c.file(to, depth+1, perhaps || conditional)
			}
		case aboutPushes(e):
			c.settings = append(c.settings, gitpush.Setting{Section: e.Section, Sub: e.Sub, Name: e.Name, Value: e.Value, NoValue: e.NoValue, Perhaps: perhaps})
			if perhaps && e.Section != "alias" && e.Section != "url" && e.Name != "url" && e.Name != "pushurl" && e.Name != "fetch" {
				c.err = errUnexpected
			}
		}
	}
	return entries
}

// included is where the path of an include leads.
func (c *configReader) included(from, path string) (string, bool) {
	rest, ofHome := strings.CutPrefix(path, "~/")
	switch {
	case ofHome && c.home != "":
		return filepath.Join(c.home, rest), true
	case strings.HasPrefix(path, "~"), strings.HasPrefix(path, "%("), path == "":
		c.err = errUnexpected
		return "", false
	}
	return joined(filepath.Dir(from), path), true
}

// aboutPushes reports whether pushes depend on an entry. Addresses, and what is put in
// their place, say where a remote is, and no more.
func aboutPushes(e *gitconfig.Entry) bool {
	switch e.Section {
	case "push":
		return !e.HasSub && (e.Name == "default" || e.Name == "followtags" || e.Name == "recursesubmodules")
	case "submodule":
		return !e.HasSub && e.Name == "recurse"
	case "remote":
		return !e.HasSub && e.Name == "pushdefault" || e.HasSub && (e.Name == "push" || e.Name == "mirror" || e.Name == "url" || e.Name == "pushurl" || e.Name == "fetch")
	case "branch":
		return e.HasSub && (e.Name == "remote" || e.Name == "pushremote" || e.Name == "merge")
	case "url":
		return e.HasSub && (e.Name == "insteadof" || e.Name == "pushinsteadof")
	case "remotes":
		return true
	case "alias":
		return true
	}
	return false
}
