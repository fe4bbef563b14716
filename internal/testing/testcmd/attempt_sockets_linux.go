package main

import (
	"errors"
	"net/netip"
	"strconv"
	"syscall"
)

// socketTries connect to other processes by sockets. They do not use package
// net, which would link the program dynamically.
func socketTries() []try {
	return []try{
		{"socket", 3, func(a []string) (string, error) {
			n, err := threeNumbers(a)
			if err != nil {
				return "", err
			}
			_, err = call(syscall.SYS_SOCKET, n[0], n[1], n[2])
			return "", err
		}},
		{"tcp", 1, func(a []string) (string, error) { return greeting(a[0], syscall.SOCK_STREAM) }},
		{"udp", 1, func(a []string) (string, error) { return greeting(a[0], syscall.SOCK_DGRAM) }},
		{"unix", 1, func(a []string) (string, error) { return unixGreeting(a[0]) }},
		{"abstract", 1, func(a []string) (string, error) { return unixGreeting("@" + a[0]) }},
		{"reconnect", 2, reconnect},
		{"listen-connected", 2, listenConnected},
		{"pair", 1, pair},
		{"pair-send", 1, sendFromPair},
		{"serve", 1, serveAndAsk},
		{"proxy-connect", 1, func(a []string) (string, error) { return throughProxy(a[0], true) }},
		{"proxy-get", 1, func(a []string) (string, error) { return throughProxy(a[0], false) }},
	}
}

func threeNumbers(a []string) (n [3]uintptr, err error) {
	for i := range n {
		v, err := strconv.ParseUint(a[i], 0, 64)
		if err != nil {
			return n, err
		}
		n[i] = uintptr(v)
	}
	return n, nil
}

// dial makes a socket and connects it. No operation on it takes longer than ten
// seconds.
func dial(address string, kind int) (int, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return -1, err
	}
	family, sa := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Port: int(to.Port()), Addr: as4(to.Addr())})
	if to.Addr().Is6() {
		family, sa = syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	return dialTo(family, kind, sa)
}

func as4(a netip.Addr) [4]byte {
	if !a.Is4() {
		return [4]byte{}
	}
	return a.As4()
}

func dialTo(family, kind int, sa syscall.Sockaddr) (int, error) {
	fd, err := syscall.Socket(family, kind, 0)
	if err != nil {
		return -1, err
	}
	patience := syscall.Timeval{Sec: 2}
	for _, option := range []int{syscall.SO_RCVTIMEO, syscall.SO_SNDTIMEO} {
		if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &patience); err != nil {
			return -1, err
		}
	}
	return fd, syscall.Connect(fd, sa)
}

// greeting connects, sends data, and reads an answer.
func greeting(address string, kind int) (string, error) {
	fd, err := dial(address, kind)
	if err != nil {
		return "", err
	}
	return hear(fd, "hello\n")
}

func hear(fd int, say string) (string, error) {
	if _, err := syscall.Write(fd, []byte(say)); err != nil {
		return "write", err
	}
	b := make([]byte, 4096)
	n, err := syscall.Read(fd, b)
	for errors.Is(err, syscall.EINTR) { // the runtime interrupts its threads
		n, err = syscall.Read(fd, b)
	}
	if err != nil {
		return "read", err
	}
	return string(b[:n]), nil
}

func unixGreeting(path string) (string, error) {
	fd, err := dialTo(syscall.AF_UNIX, syscall.SOCK_STREAM, &syscall.SockaddrUnix{Name: path})
	if err != nil {
		return "", err
	}
	return hear(fd, "hello\n")
}

// reconnect connects to one socket, and with the same descriptor to another
// one.
func reconnect(a []string) (step string, err error) {
	fd, err := dialTo(syscall.AF_UNIX, syscall.SOCK_STREAM, &syscall.SockaddrUnix{Name: a[0]})
	if err != nil {
		return "connect", err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: a[1]}); err != nil {
		return "reconnect", err
	}
	return hear(fd, "hello\n")
}

// listenConnected connects to one socket, binds the descriptor to a name in the
// file system, and listens on it.
func listenConnected(a []string) (step string, err error) {
	fd, err := dialTo(syscall.AF_UNIX, syscall.SOCK_STREAM, &syscall.SockaddrUnix{Name: a[0]})
	if err != nil {
		return "connect", err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: a[1]}); err != nil {
		return "bind", err
	}
	return "listen", syscall.Listen(fd, 1)
}

var pairKinds = map[string]int{"stream": syscall.SOCK_STREAM, "datagram": syscall.SOCK_DGRAM, "packet": syscall.SOCK_SEQPACKET}

func pair(a []string) (string, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, pairKinds[a[0]], 0)
	if err != nil {
		return "", err
	}
	if _, err := syscall.Write(fds[0], []byte("hello")); err != nil {
		return "", err
	}
	return hear(fds[1], "")
}

// sendFromPair sends to an address by one socket of a pair.
func sendFromPair(a []string) (string, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return "pair", err
	}
	return "send", syscall.Sendto(fds[0], []byte("hello"), 0, &syscall.SockaddrUnix{Name: a[0]})
}

// serveAndAsk listens on an address and connects to it.
func serveAndAsk(a []string) (step string, err error) {
	to, err := netip.ParseAddr(a[0])
	if err != nil {
		return "", err
	}
	family, sa := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Addr: as4(to)})
	if to.Is6() {
		family, sa = syscall.AF_INET6, &syscall.SockaddrInet6{Addr: to.As16()}
	}
	server, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "socket", err
	}
	if err := errors.Join(syscall.Bind(server, sa), syscall.Listen(server, 1)); err != nil {
		return "listen", err
	}
	bound, err := syscall.Getsockname(server)
	if err != nil {
		return "name", err
	}
	client, err := dialTo(family, syscall.SOCK_STREAM, bound)
	if err != nil {
		return "connect", err
	}
	served, _, err := syscall.Accept(server)
	if err != nil {
		return "accept", err
	}
	if _, err := syscall.Write(served, []byte("hello")); err != nil {
		return "write", err
	}
	return hear(client, "hello")
}
