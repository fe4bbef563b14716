//go:build linux

package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tipstaff/internal/paths"
	"tipstaff/internal/profile"
)

// pathWords are in all that complaints match.
var pathWords = []string{"read-only file system", "permission denied", "operation not permitted", "resource busy", "erofs", "eacces", "eperm", "ebusy"}

// complaints are what programs print when the kernel refuses a file.
var complaints = newPattern(`(?i)read-only file system|permission denied|operation not permitted|device or resource busy|\b(EROFS|EACCES|EPERM|EBUSY)\b`)

// readOnly and writing tell a complaint of somebody who wanted to write.
var (
	readOnly = newPattern(`(?i)read-only|EROFS|resource busy|EBUSY`)
	writing  = newPattern(`(?i)creat|touch|remov|writ|mkdir|mov|renam|unlink|truncat|delet|link|sav|cop|install`)
)

// Ways in which a complaint names a path, the surest first: in quotes, as a word
// with a slash in it, as the word before what is said of it.
var (
	quoted  = newPattern(`'([^']+)'|"([^"]+)"|\x60([^\x60']+)[\x60']`)
	slashed = newPattern(`[^\s'"\x60:,()\[\]]*/[^\s'"\x60:,()\[\]]*`)
	before  = newPattern(`(?:^|\s)([^\s:@]+):?\s*$`)
)

// namesIn gives what a line may call the path that it complains of. at is where
// the complaint begins.
func namesIn(line []byte, at int) (names []string) {
	for _, m := range quoted.compiled().FindAllSubmatch(line, -1) {
		names = append(names, string(bytes.Join(m[1:], nil)))
	}
	for _, m := range slashed.compiled().FindAll(line, -1) {
		names = append(names, string(m))
	}
	if m := before.compiled().FindSubmatch(line[:at]); m != nil {
		names = append(names, string(m[1]))
	}
	return names
}

// whyNoPath looks for a refused path in what a program complained of.
func (c *Confined) whyNoPath(p remark) string {
	at := complaints.compiled().FindIndex(p.line)
	if at == nil {
		return ""
	}
	for _, name := range namesIn(p.line, at[0]) {
		deed := bytes.ReplaceAll(p.line, []byte(name), nil) // a name tells of no deed
		path := c.meant(name)
		if p.toldOf(located(c.dir, path)) {
			return ""
		}
		if why := c.why(path, readOnly.Match(p.line) || writing.Match(deed)); why != "" {
			return why
		}
	}
	return ""
}

// meant gives the path that a program may mean by a name. Git goes up to the top of
// its work tree before it names anything.
func (c *Confined) meant(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if first != ".git" {
		return name
	}
	for dir := c.dir; paths.Within(dir, c.layers.paths.Workspace...); dir = filepath.Dir(dir) {
		if unix.Access(filepath.Join(dir, first), unix.F_OK) == nil {
			return filepath.Join(dir, name)
		}
		if dir == "/" {
			break
		}
	}
	return name
}

// why says by which rule a path is refused; "" if it is not known to be. write
// says that somebody wanted to write it.
func (c *Confined) why(path string, write bool) string {
	if path == "" || len(path) > 4096 {
		return ""
	}
	path = located(c.dir, path)
	if paths.Within(path, tempOf(c.session.dir)) {
		return ""
	}
	p := c.layers.paths
	for _, h := range p.Hidden {
		if paths.Within(path, h.Path) {
			return fmt.Sprintf("The sandbox hides %s from commands: %s.", path, h.Why)
		}
	}
	for _, pin := range p.Pinned {
		if c.sandbox.status.tier == Namespaces && (!pin.InPlace && paths.Within(path, pin.Path) || path == pin.Path) {
			return fmt.Sprintf("The sandbox keeps %s as it is: %s. A person can change it, outside of tipstaff; go on without it, or ask for it.", path, pin.Why)
		}
	}
	if !write && unix.Access(path, unix.F_OK) == nil {
		return "" // it may have been about reading or running it
	}
	return c.whyNotWritten(path)
}

// whyNotWritten explains a path outside of what is writable, if the server's
// user could write there.
func (c *Confined) whyNotWritten(path string) string {
	p := c.layers.paths
	if p.Profile == profile.Open {
		return ""
	}
	elsewhere := []string{"/dev", "/proc"} // where writing follows other rules
	if c.sandbox.status.tier == Namespaces && !paths.Within(path, p.Workspace...) {
		elsewhere = append(elsewhere, "/tmp", "/var/tmp")
	}
	target := path
	if unix.Access(target, unix.F_OK) != nil {
		target = filepath.Dir(path)
	}
	for _, dir := range slices.Concat(p.Writable(), elsewhere) {
		if paths.Within(path, dir) {
			return cmp.Or(c.whyNotMade(path), whyForeign(target))
		}
	}
	if !mayCommand(target, unix.W_OK) {
		return "" // the machine's own rights refuse it as well
	}
	if p.Profile == profile.ReadOnly {
		return fmt.Sprintf("The sandbox does not let commands write %s: the profile is read-only; only the temporary directory is writable.", path)
	}
	return fmt.Sprintf("The sandbox does not let commands write %s: writable are %s, the temporary directory and the tools' caches.", path, strings.Join(p.Workspace, ", "))
}

// whyForeign explains what belongs to another user, where the server's user is
// root and could change it all the same.
func whyForeign(path string) string {
	var st unix.Stat_t
	if unix.Geteuid() != 0 || unix.Lstat(path, &st) != nil || st.Uid == 0 || mayCommand(path, unix.W_OK) {
		return ""
	}
	return fmt.Sprintf("%s belongs to user %d with mode %04o, and commands have no capabilities here: they cannot write what only another user may, although they run as root.",
		path, st.Uid, st.Mode&0o7777)
}

// whyNotMade explains why there is no new file beside something hidden.
func (c *Confined) whyNotMade(path string) string {
	if unix.Access(path, unix.F_OK) == nil {
		return ""
	}
	for _, h := range c.layers.paths.Hidden {
		if paths.Within(h.Path, filepath.Dir(path)) {
			return fmt.Sprintf("The sandbox lets nothing new be made directly in %s, because %s in it is hidden: %s.", filepath.Dir(path), h.Path, h.Why)
		}
	}
	return ""
}

// located gives an argument as a path whose directory is canonical.
func located(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	if up, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(up, filepath.Base(path))
	}
	return path
}
