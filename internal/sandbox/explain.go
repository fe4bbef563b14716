//go:build linux

package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tipstaff"
	"tipstaff/internal/profile"
)

// Explain adds to a result what the sandbox is known to have refused, so that
// nobody starts to repair what is not broken, and names the limit that ended a
// command. It says nothing where it does not know.
func (c *Confined) Explain(r *tipstaff.Result) {
	if c.sandbox == nil {
		return
	}
	c.explainLimit(r)
	for _, h := range c.room.takeRefused() {
		r.Refusals = append(r.Refusals, "The sandbox refused a connection: "+strings.TrimSuffix(h.why, ".")+".")
	}
	c.explainGuard(r)
	if r.ExitCode != 0 && r.Cause != tipstaff.TimedOut && r.Cause != tipstaff.Cancelled {
		c.explainPaths(r)
		c.explainNetwork(r)
	}
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

// takeRefused gives the hosts that were refused since it was last asked.
func (r *room) takeRefused() []refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Compact(r.refused)
	r.refused = nil
	return list
}

// explainLimit tells of limits by what the kernel has counted, and by the signals
// that it sends for them.
func (c *Confined) explainLimit(r *tipstaff.Result) {
	l, g := c.room.held.limits, c.room.held.group
	if n := r.Usage.RefusedProcesses; n > 0 && g.Processes > 0 {
		r.Refusals = append(r.Refusals, fmt.Sprintf("It met the limit of processes, %d for the whole command: the kernel refused to make another (%d times).", g.Processes, n))
	}
	used := r.Usage.UserCPU + r.Usage.SystemCPU
	switch {
	case r.Usage.OutOfMemory && g.MemoryBytes > 0:
		if r.Cause == tipstaff.Signalled {
			r.Cause = tipstaff.MemoryLimit
		}
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of memory, %d bytes for the whole command; its peak was %d.", g.MemoryBytes, r.Usage.PeakBytes))
	case l.CPU > 0 && (r.Signal == "SIGXCPU" || r.ExitCode == exitXCPU || r.Signal == "SIGKILL" && r.Cause == tipstaff.Signalled && used >= l.CPU):
		if r.Signal != "" {
			r.Cause = tipstaff.CPULimit
		}
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of processor time, %v for each process; it had used %v.", l.CPU, used.Round(timeStep)))
	case l.FileBytes > 0 && (r.Signal == "SIGXFSZ" || r.ExitCode == exitXFSZ):
		if r.Signal != "" {
			r.Cause = tipstaff.FileSizeLimit
		}
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of a file's size, %d bytes.", l.FileBytes))
	case l.MemoryBytes > 0 && g.MemoryBytes == 0 && r.ExitCode != 0 && r.Usage.MaxResidentBytes > l.MemoryBytes/10*7:
		r.Refusals = append(r.Refusals, fmt.Sprintf("It may have run into the limit of memory, %d bytes for each process; its peak was %d.", l.MemoryBytes, r.Usage.MaxResidentBytes))
	}
}

const (
	timeStep = 10 * 1000 * 1000 // ns
	// As a shell tells of a program that it ran.
	exitXCPU = 128 + int(unix.SIGXCPU)
	exitXFSZ = 128 + int(unix.SIGXFSZ)
	// explained is how much of the end of the errors is looked at, and how many
	// paths are explained.
	explainedBytes = 8 << 10
	explainedPaths = 3
)

// complaints are what programs print when the kernel refuses a file.
var complaints = regexp.MustCompile(`(?i)read-only file system|permission denied|operation not permitted|device or resource busy|\b(EROFS|EACCES|EPERM|EBUSY)\b`)

// readOnly and writing tell a complaint of somebody who wanted to write.
var (
	readOnly = regexp.MustCompile(`(?i)read-only|EROFS|resource busy|EBUSY`)
	writing  = regexp.MustCompile(`(?i)creat|touch|remov|writ|mkdir|mov|renam|unlink|truncat|delet|link|sav|cop|install`)
)

// Ways in which a complaint names a path, the surest first: in quotes, as a word
// with a slash in it, as the word before what is said of it.
var (
	quoted  = regexp.MustCompile(`'([^']+)'|"([^"]+)"|\x60([^\x60']+)[\x60']`)
	slashed = regexp.MustCompile(`[^\s'"\x60:,()\[\]]*/[^\s'"\x60:,()\[\]]*`)
	before  = regexp.MustCompile(`(?:^|\s)([^\s:@]+):?\s*$`)
)

// namesIn gives what a line may call the path that it complains of. at is where
// the complaint begins.
func namesIn(line []byte, at int) (names []string) {
	for _, m := range quoted.FindAllSubmatch(line, -1) {
		names = append(names, string(bytes.Join(m[1:], nil)))
	}
	for _, m := range slashed.FindAll(line, -1) {
		names = append(names, string(m))
	}
	if m := before.FindSubmatch(line[:at]); m != nil {
		names = append(names, string(m[1]))
	}
	return names
}

// explainPaths looks for refused paths in what the program complained of.
func (c *Confined) explainPaths(r *tipstaff.Result) {
	explained := map[string]bool{}
	for line := range bytes.Lines(lastOf(r.Stderr)) {
		at := complaints.FindIndex(line)
		if at == nil {
			continue
		}
		for _, name := range namesIn(line, at[0]) {
			deed := bytes.ReplaceAll(line, []byte(name), nil) // a name tells of no deed
			if why := c.why(name, readOnly.Match(line) || writing.Match(deed)); why != "" {
				if !explained[why] && len(explained) < explainedPaths {
					explained[why] = true
					r.Refusals = append(r.Refusals, why)
				}
				break
			}
		}
	}
}

func lastOf(s tipstaff.Stream) []byte {
	text := s.Head
	if s.Dropped > 0 {
		text = s.Tail
	}
	return text[max(0, len(text)-explainedBytes):]
}

// why says by which rule a path is refused; "" if it is not known to be. write
// says that somebody wanted to write it.
func (c *Confined) why(path string, write bool) string {
	if path == "" || len(path) > 4096 {
		return ""
	}
	path = located(c.dir, path)
	if within(path, tempOf(c.room.dir)) {
		return ""
	}
	p := c.walls.paths
	for _, h := range p.Hidden {
		if within(path, h.Path) {
			return fmt.Sprintf("The sandbox hides %s from commands: %s.", path, h.Why)
		}
	}
	for _, pin := range p.Pinned {
		if c.sandbox.status.tier == Namespaces && (!pin.InPlace && within(path, pin.Path) || path == pin.Path) {
			return fmt.Sprintf("The sandbox keeps %s as it is: %s.", path, pin.Why)
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
	p := c.walls.paths
	if p.Profile == profile.Open {
		return ""
	}
	elsewhere := []string{"/dev", "/proc"} // where writing follows other rules
	if c.sandbox.status.tier == Namespaces && !slices.ContainsFunc(p.Workspace, func(w string) bool { return within(path, w) }) {
		elsewhere = append(elsewhere, "/tmp", "/var/tmp")
	}
	target := path
	if unix.Access(target, unix.F_OK) != nil {
		target = filepath.Dir(path)
	}
	for _, dir := range slices.Concat(p.Writable(), elsewhere) {
		if within(path, dir) {
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
	for _, h := range c.walls.paths.Hidden {
		if within(h.Path, filepath.Dir(path)) {
			return fmt.Sprintf("The sandbox lets nothing new be made directly in %s, because %s in it is hidden: %s.", filepath.Dir(path), h.Path, h.Why)
		}
	}
	return ""
}

// unreachable is what programs print when there is no network.
var unreachable = regexp.MustCompile(`(?i)network is unreachable|could not resolve host|name resolution|ENETUNREACH|EAI_AGAIN|ENOTFOUND|no such host|address family not supported|socket.*not permitted|not permitted.*socket`)

// explainNetwork tells that there is no network, where a program seems to miss it.
func (c *Confined) explainNetwork(r *tipstaff.Result) {
	n := c.room.held.network
	if n.Reach == AllNetwork || !unreachable.Match(lastOf(r.Stderr)) {
		return
	}
	if n.Reach == NoNetwork {
		who := "TIPSTAFF_NETWORK=off"
		if c.sandbox.o.Network.Reach != NoNetwork {
			who = "by the policy"
		}
		r.Refusals = append(r.Refusals, "Commands have no network here ("+who+").")
		return
	}
	r.Refusals = append(r.Refusals, fmt.Sprintf("Commands reach the network only through the proxy that HTTP_PROXY and HTTPS_PROXY name, and only %s.", n))
}
