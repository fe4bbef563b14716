package seccomp

import (
	"slices"
	"strings"
)

// The tables contain all system calls of an architecture, refused or not,
// because the filter allows only calls that were reviewed: a number without a
// name is answered with ENOSYS, as by a kernel that lacks the call. This covers
// numbers beyond the newest, gaps that a later kernel may fill, and the x32
// calls of amd64, whose numbers have bit 30 set.
//
// They are maintained against golang.org/x/sys: if an update of it knows a call
// that is missing here, TestTheTablesAreThoseOfTheKernel fails. Then read what
// the call does. If a confined command may use it, add its name to the table;
// if not, also add it to a row of rules.go.

// stretch is a part of a table: the names of consecutive numbers.
type stretch struct {
	from  uint32
	names string
}

// sharedCalls have the same numbers on all architectures, as all calls since
// Linux 5.1 do. The last one is the newest that was reviewed.
var sharedCalls = []stretch{
	{424, "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount"},
	{430, "fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2"},
	{440, "process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv"},
	{450, "set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount lsm_get_self_attr"},
	{460, "lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr"},
	{470, "listns rseq_slice_yield"},
}

// table maps the names of calls to their numbers.
type table map[string]uint32

func tableOf(a Arch) (table, bool) {
	switch a {
	case AMD64:
		return tableFrom(amd64Calls), true
	case ARM64:
		return tableFrom(arm64Calls), true
	}
	return nil, false
}

// tableFrom adds the shared calls to those of one architecture.
func tableFrom(older []stretch) table {
	t := table{}
	for _, s := range slices.Concat(older, sharedCalls) {
		n := s.from
		for name := range strings.FieldsSeq(s.names) {
			t[name] = n
			n++
		}
	}
	return t
}

// everyName returns the names of all calls of all architectures.
func everyName() map[string]bool {
	names := map[string]bool{}
	for _, s := range slices.Concat(amd64Calls, arm64Calls, sharedCalls) {
		for name := range strings.FieldsSeq(s.names) {
			names[name] = true
		}
	}
	return names
}
