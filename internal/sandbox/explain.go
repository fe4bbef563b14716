//go:build linux

package sandbox

import (
	"bytes"
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
	if r.ExitCode != 0 && r.Cause != tipstaff.TimedOut && r.Cause != tipstaff.Cancelled {
		c.explainPaths(r)
		c.explainNetwork(r)
	}
}

// takeRefused gives the hosts that were refused since it was last asked.
func (r *room) takeRefused() []refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Compact(r.refused)
	r.refused = nil
	return list
}

// explainLimit tells of limits by the signals that the kernel sends for them.
func (c *Confined) explainLimit(r *tipstaff.Result) {
	l := c.sandbox.o.Limits
	used := r.Usage.UserCPU + r.Usage.SystemCPU
	switch {
	case l.CPU > 0 && (r.Signal == "SIGXCPU" || r.Signal == "SIGKILL" && r.Cause == tipstaff.Signalled && used >= l.CPU):
		r.Cause = tipstaff.CPULimit
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of processor time, %v for each process; it had used %v.", l.CPU, used.Round(timeStep)))
	case l.FileBytes > 0 && (r.Signal == "SIGXFSZ" || r.ExitCode == exitXFSZ):
		if r.Signal != "" {
			r.Cause = tipstaff.FileSizeLimit
		}
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of a file's size, %d bytes.", l.FileBytes))
	case l.MemoryBytes > 0 && r.ExitCode != 0 && r.Usage.MaxResidentBytes > l.MemoryBytes/10*7:
		r.Refusals = append(r.Refusals, fmt.Sprintf("It may have run into the limit of memory, %d bytes for each process; its peak was %d.", l.MemoryBytes, r.Usage.MaxResidentBytes))
	}
}

const (
	timeStep = 10 * 1000 * 1000        // ns
	exitXFSZ = 128 + int(unix.SIGXFSZ) // as a shell tells of a program that it ran
	// explained is how much of the end of the errors is looked at, and how many
	// paths are explained.
	explainedBytes = 8 << 10
	explainedPaths = 3
)

// complaints are what programs print when the kernel refuses a file.
var complaints = regexp.MustCompile(`(?i)read-only file system|permission denied|operation not permitted|device or resource busy|\b(EROFS|EACCES|EPERM|EBUSY)\b`)

// named finds paths in a complaint: in quotes, or a word with a slash in it.
var named = regexp.MustCompile(`'([^']+)'|"([^"]+)"|` + "`([^`']+)['`]" + `|([^\s'"` + "`" + `:,()\[\]]*/[^\s'"` + "`" + `:,()\[\]]*)|(\S+)`)

// explainPaths looks for refused paths in what the program complained of.
func (c *Confined) explainPaths(r *tipstaff.Result) {
	explained := map[string]bool{}
	for line := range bytes.Lines(lastOf(r.Stderr)) {
		at := complaints.FindIndex(line)
		if at == nil {
			continue
		}
		for _, m := range named.FindAllSubmatch(line, -1) {
			path := string(bytes.Join(m[1:], nil))
			if why := c.why(path); why != "" && !explained[why] && len(explained) < explainedPaths {
				explained[why] = true
				r.Refusals = append(r.Refusals, why)
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

// why says by which rule a path is refused; "" if it is not known to be.
func (c *Confined) why(path string) string {
	if path == "" || len(path) > 4096 {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	path = filepath.Clean(path)
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
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
	return c.whyNotWritten(path)
}

// whyNotWritten explains a path outside of what is writable, if the server's
// user could write there.
func (c *Confined) whyNotWritten(path string) string {
	p := c.walls.paths
	if p.Profile == profile.Open {
		return ""
	}
	for _, dir := range slices.Concat(p.Writable(), []string{"/tmp", "/var/tmp", "/dev", "/proc", tempOf(c.room.dir)}) {
		if within(path, dir) {
			return ""
		}
	}
	target := path
	if unix.Access(target, unix.F_OK) != nil {
		target = filepath.Dir(path)
	}
	if unix.Access(target, unix.W_OK) != nil {
		return "" // the machine's own rights refuse it as well
	}
	if p.Profile == profile.ReadOnly {
		return fmt.Sprintf("The sandbox does not let commands write %s: the profile is read-only; only the temporary directory is writable.", path)
	}
	return fmt.Sprintf("The sandbox does not let commands write %s: writable are %s, the temporary directory and the tools' caches.", path, strings.Join(p.Workspace, ", "))
}

// unreachable is what programs print when there is no network.
var unreachable = regexp.MustCompile(`(?i)network is unreachable|could not resolve host|name resolution|ENETUNREACH|EAI_AGAIN|ENOTFOUND|no such host|address family not supported`)

// explainNetwork tells that there is no network, where a program seems to miss it.
func (c *Confined) explainNetwork(r *tipstaff.Result) {
	n := c.sandbox.o.Network
	if n.Reach == AllNetwork || !unreachable.Match(lastOf(r.Stderr)) {
		return
	}
	if n.Reach == NoNetwork {
		r.Refusals = append(r.Refusals, "Commands have no network here (TIPSTAFF_NETWORK=off).")
		return
	}
	r.Refusals = append(r.Refusals, fmt.Sprintf("Commands reach the network only through the proxy that HTTP_PROXY and HTTPS_PROXY name, and only %s.", n))
}
