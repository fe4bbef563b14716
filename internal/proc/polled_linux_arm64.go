package proc

import "golang.org/x/sys/unix"

// sysSelect: there is no call whose time is a timeval.
const sysSelect = -1

// pollCalls are the calls that wait for several descriptors.
var pollCalls = map[int]pollKind{
	unix.SYS_PPOLL: byPPoll, unix.SYS_PSELECT6: bySelect, unix.SYS_EPOLL_PWAIT: byEpoll, unix.SYS_EPOLL_PWAIT2: byEpoll2,
}
