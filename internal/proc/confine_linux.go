//go:build linux && (amd64 || arm64)

package proc

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// capabilityHeader and capabilities are what capset(2) takes.
type (
	capabilityHeader struct {
		version uint32
		pid     int32
	}
	capabilities [2]struct{ effective, permitted, inheritable uint32 }
)

var (
	capabilityVersion3 = capabilityHeader{version: unix.LINUX_CAPABILITY_VERSION_3}
	noCapabilities     capabilities
)

// dropCapabilities adds a step that gives all of them up.
func (s *script) dropCapabilities() {
	s.add("give up capabilities", unix.SYS_CAPSET, hold(s, &capabilityVersion3), hold(s, &noCapabilities))
}

// filterProgram is struct sock_fprog of seccomp(2).
type filterProgram struct {
	length uint16
	_      [6]byte
	first  *Instruction
}

// confine adds the steps that take from the child what it must not have. They
// come last, because a child that is confined could not do the others.
func (s *script) confine(c *Confinement, ruleset int) {
	s.dropCapabilities()
	s.add("gain no privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	if c.Ruleset > 0 {
		s.add("enter the Landlock domain", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0)
	}
	if len(c.Filter) > 0 {
		p := &filterProgram{length: uint16(len(c.Filter)), first: unsafe.SliceData(c.Filter)}
		s.add("filter system calls", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, hold(s, p))
	}
}

// limit adds the limits of resources. None may go beyond what the server has.
func (s *script) limit(limits []Limit) {
	for _, l := range limits {
		var own unix.Rlimit
		if err := unix.Getrlimit(l.Resource, &own); err != nil {
			own.Max = unix.RLIM_INFINITY
		}
		v := min(l.Value, own.Max)
		s.add("limit resources", unix.SYS_PRLIMIT64, 0, uintptr(l.Resource), hold(s, &unix.Rlimit{Cur: v, Max: v}), 0)
	}
}

// openHow is struct open_how of openat2(2).
type openHow struct{ flags, mode, resolve uint64 }

// enterByName adds steps that enter a directory by its name: a descriptor from
// outside would keep the child in the mounts outside. The name was resolved
// before; if a link stands in it now, somebody has put it there.
func (s *script) enterByName(path string) error {
	name, err := s.text(path)
	if err != nil {
		return err
	}
	fd := new(uintptr)
	how := &openHow{flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, resolve: unix.RESOLVE_NO_SYMLINKS}
	s.add(enterDirectory, unix.SYS_OPENAT2, here, name, hold(s, how), unsafe.Sizeof(*how)).result = fd
	s.at(enterDirectory, unix.SYS_FCHDIR, fd)
	return nil
}
