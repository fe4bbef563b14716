//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel bounds memory and processes of a control group where the group
// above has switched that on for those below it. A group that has, has no
// processes of its own (cgroup-v2.rst, "No Internal Process Constraint"), so a
// server has to leave the group that it was started in for one below it.

// serverGroup is the control group that a server moves into, beside its
// directory and not below it: what is below is killed when the server has died.
const serverGroup = cgroupPrefix + "server"

// controllers are what can be bounded.
type controllers struct{ memory, pids bool }

func (c controllers) all() bool { return c.memory && c.pids }

// site is where a server makes its directory.
type site struct {
	dir string
	on  controllers // for what is made there
	why error       // why not all; nil if all
}

// findSite finds the place for the server's directory, and switches on there
// what can be.
func findSite() (site, error) {
	own, err := ownCgroup()
	if err != nil {
		return site{}, err
	}
	s := site{dir: own}
	if above := filepath.Dir(own); filepath.Base(own) == serverGroup || isSubgroup(own) {
		if unix.Access(above, unix.W_OK) == nil {
			s.dir = above
		}
	}
	s.why = s.switchOn(own)
	s.on = controllersOf(s.dir, "cgroup.subtree_control")
	if s.on.all() {
		s.why = nil
	}
	return s, nil
}

// isSubgroup reports whether systemd has put the server into a group of its own
// below the one that it may divide (DelegateSubgroup=). A unit that lies directly
// in one that may be divided is not the server's, but systemd's.
func isSubgroup(own string) bool { return !isUnit(own) && handedOver(filepath.Dir(own)) }

// isUnit reports whether systemd has made a group for a unit of its own.
func isUnit(dir string) bool {
	return slices.Contains([]string{".service", ".scope", ".slice"}, filepath.Ext(dir))
}

// handedOver reports whether systemd has marked a group as one that may be divided
// (Delegate=). The first mark is for everybody to see, since systemd 251.
func handedOver(dir string) bool {
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		var value [2]byte
		if n, err := unix.Getxattr(dir, mark, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// switchOn lets the kernel count in the groups that are made here. It says why
// not everything that can be bounded is.
func (s site) switchOn(own string) error {
	have, on := controllersOf(s.dir, "cgroup.controllers"), controllersOf(s.dir, "cgroup.subtree_control")
	if (!have.memory || on.memory) && (!have.pids || on.pids) {
		return have.lacking(s.dir)
	}
	if s.dir == own {
		// Root may write everywhere, and would be in systemd's way.
		if os.Geteuid() == 0 && isUnit(own) && !handedOver(own) {
			return errNotHandedOver
		}
		if !alone(own) {
			return errNotAlone
		}
		if err := moveInto(filepath.Join(own, serverGroup)); err != nil {
			return fmt.Errorf("the server cannot move into a control group of its own: %w", bare(err))
		}
	}
	if err := have.writeTo(s.dir); err != nil {
		if s.dir == own && enter(own) == nil {
			_ = os.Remove(filepath.Join(own, serverGroup))
		}
		return fmt.Errorf("the kernel does not let the server bound groups in %s: %w", s.dir, bare(err))
	}
	return have.lacking(s.dir)
}

var errNotAlone = errors.New("other processes are in the server's control group; " +
	"start the server alone in one that it may divide, as by systemd-run --user --scope -p Delegate=yes tipstaff serve")

var errNotHandedOver = errors.New("systemd has not handed the server's control group over; Delegate=yes in the unit does")

// lacking says what there is not; nil if nothing.
func (c controllers) lacking(dir string) error {
	var names []string
	if !c.memory {
		names = append(names, "memory")
	}
	if !c.pids {
		names = append(names, "pids")
	}
	if len(names) == 0 {
		return nil
	}
	if version1(names[0]) {
		return fmt.Errorf("this machine has the controllers %s in control groups of version 1; with systemd.unified_cgroup_hierarchy=1 it boots with those of version 2", strings.Join(names, " and "))
	}
	return fmt.Errorf("the control group %s does not have the controllers %s; a service gets them by Delegate=yes", dir, strings.Join(names, " and "))
}

// version1 reports whether a controller belongs to a hierarchy of version 1:
// cgroups(7).
func version1(name string) bool {
	data, _ := os.ReadFile("/proc/cgroups")
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			return f[1] != "0"
		}
	}
	return false
}

// controllersOf reads which ones a file of a control group names.
func controllersOf(dir, file string) controllers {
	data, _ := os.ReadFile(filepath.Join(dir, file))
	names := strings.Fields(string(data))
	return controllers{memory: slices.Contains(names, "memory"), pids: slices.Contains(names, "pids")}
}

// writeTo switches them on for the groups below dir. One may be refused and
// the other not.
func (c controllers) writeTo(dir string) (err error) {
	file := filepath.Join(dir, "cgroup.subtree_control")
	if c.memory {
		err = os.WriteFile(file, []byte("+memory"), 0)
	}
	if c.pids {
		err = errors.Join(err, os.WriteFile(file, []byte("+pids"), 0))
	}
	return err
}

// alone reports whether the server is the only process in its control group.
func alone(own string) bool {
	data, err := os.ReadFile(filepath.Join(own, "cgroup.procs"))
	return err == nil && strings.TrimSpace(string(data)) == strconv.Itoa(os.Getpid())
}

// moveInto makes a control group, if it is not there, and moves the server into
// it. Nobody but the server is ever moved.
func moveInto(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	err := enter(dir)
	if err != nil {
		_ = os.Remove(dir)
	}
	return err
}

// enter moves the server, with all its threads.
func enter(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}
