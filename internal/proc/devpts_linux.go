//go:build linux && (amd64 || arm64)

package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Each instance has a devpts of its own, so a command has no name for the
// terminals of others.

// terminals returns where an instance has it; "" if it has none.
func (n *Enclosure) terminals() string {
	if n.spec.Namespaces == nil {
		return ""
	}
	for _, m := range n.spec.Namespaces.Mounts {
		if m.Terminals {
			return m.Path
		}
	}
	return ""
}

// devpts adds the mount of a new devpts, with permissions that let every process of the
// instance open terminals.
func devpts(s *childSteps, path string) error {
	if path == "" {
		return nil
	}
	at, err := s.text(path)
	if err != nil {
		return err
	}
	kind, err := s.text("devpts")
	if err != nil {
		return err
	}
	options, err := s.text("newinstance,ptmxmode=0666,mode=0620")
	if err != nil {
		return err
	}
	s.add("mount "+path, unix.SYS_MOUNT, kind, at, kind, unix.MS_NOSUID|unix.MS_NOEXEC, options)
	return nil
}

// ptsState is what commands can leave in a devpts: modes and times, of it and of
// what makes terminals.
type ptsState struct{ root, ptmx unix.Stat_t }

func (s *ptsState) read(pts int) error {
	if err := unix.Fstatat(pts, "", &s.root, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("cannot look at terminals: %w", err)
	}
	if err := unix.Fstatat(pts, "ptmx", &s.ptmx, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("cannot look at terminals: %w", err)
	}
	return nil
}

// terminalsUntouched reports whether the devpts of every instance is as it was made.
// All instances must be ready, and they are again when it returns.
func (n *Enclosure) terminalsUntouched() bool {
	if n.terminals() == "" {
		return true
	}
	same := true
	for range len(n.ready) {
		select {
		case i := <-n.ready:
			var now ptsState
			same = same && now.read(i.pts) == nil && now == i.ptsWas
			n.giveBack(i, true)
		default:
			return false // somebody has taken one
		}
	}
	return same
}
