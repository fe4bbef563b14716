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

// The kernel limits memory and processes of a control group if the controllers
// are enabled in its parent. A group that enables controllers must not have
// processes of its own (cgroup-v2.rst, "No Internal Process Constraint"), so a
// server has to move from the group that it was started in to one below it.

// serverGroup is the control group that a server moves into. It is beside the
// server's directory and not below it, because everything below the directory
// is killed when the server has died.
const serverGroup = cgroupPrefix + "server"

// controllers says which resources can be limited.
type controllers struct{ memory, pids bool }

func (c controllers) all() bool { return c.memory && c.pids }

// site is where a server makes its directory.
type site struct {
	dir string
	on  controllers // enabled for the groups that are made there
	why error       // why some are missing; nil if none is
}

// findSite returns the control group in which the server makes its directory, and
// enables the controllers that it can enable there.
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
// below the delegated one (DelegateSubgroup=). A unit directly below a
// delegated group belongs to systemd, not to the server.
func isSubgroup(own string) bool { return !isUnit(own) && handedOver(filepath.Dir(own)) }

// isUnit reports whether systemd has made the group for a unit.
func isUnit(dir string) bool {
	return slices.Contains([]string{".service", ".scope", ".slice"}, filepath.Ext(dir))
}

// handedOver reports whether systemd has marked a group as delegated
// (Delegate=). All users can read the first of the two marks, which exists
// since systemd 251.
func handedOver(dir string) bool {
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		var value [2]byte
		if n, err := unix.Getxattr(dir, mark, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// switchOn enables the controllers for the groups that are made here, and returns why
// some are missing. It moves the server if it must, and only if no other process is in
// its group and systemd has handed the group over: a group of others is never changed.
// If the kernel refuses, it moves the server back.
func (s site) switchOn(own string) error {
	have, on := controllersOf(s.dir, "cgroup.controllers"), controllersOf(s.dir, "cgroup.subtree_control")
	if (!have.memory || on.memory) && (!have.pids || on.pids) {
		return have.lacking(s.dir)
	}
	if s.dir == own {
		// Root may write everywhere, but must not interfere with systemd.
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

// lacking returns which controllers are missing; nil if none is.
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

// version1 reports whether a controller is attached to a version 1 hierarchy:
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

// controllersOf reads the controllers that a file of a control group lists.
func controllersOf(dir, file string) controllers {
	data, _ := os.ReadFile(filepath.Join(dir, file))
	names := strings.Fields(string(data))
	return controllers{memory: slices.Contains(names, "memory"), pids: slices.Contains(names, "pids")}
}

// writeTo enables the controllers for the groups below dir, one by one, because
// the kernel may accept only one of them.
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

// moveInto makes a control group, unless it exists, and moves the server into
// it. No other process is ever moved.
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

// enter moves the server with all its threads.
func enter(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}
