package proc

import "golang.org/x/sys/unix"

// sysSelect is the call whose time is a timeval.
const sysSelect = unix.SYS_SELECT

// pollCalls are the calls that wait for several descriptors.
var pollCalls = map[int]pollKind{
	unix.SYS_POLL: byPoll, unix.SYS_PPOLL: byPPoll,
	unix.SYS_SELECT: bySelect, unix.SYS_PSELECT6: bySelect,
	unix.SYS_EPOLL_WAIT: byEpoll, unix.SYS_EPOLL_PWAIT: byEpoll, unix.SYS_EPOLL_PWAIT2: byEpoll2,
}
