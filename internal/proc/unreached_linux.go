//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// counters are the files of a network namespace in which the kernel counts what it
// could not send, and what it had to refuse.
var counters = []string{"/proc/self/net/snmp", "/proc/self/net/snmp6"}

// count opens the counters of the network namespace. A kernel without one of them
// confines just as well.
func (v *view) count() error {
	for _, file := range counters {
		path, err := v.text(file)
		if err != nil {
			return err
		}
		v.counts = append(v.counts, v.open("open "+file, unix.SYS_OPENAT, atCWD, path, unix.O_RDONLY|unix.O_CLOEXEC))
		v.steps[len(v.steps)-1].flags |= mayFail
	}
	return nil
}

// Unreached says what the kernel has refused since the network namespace of an
// enclosure was made. All commands in the enclosure count together.
type Unreached struct {
	// Hosts is how often a program addressed a host that the namespace has no route
	// to.
	Hosts int64
	// Ports is how often a program sent a datagram to a port of the namespace's own
	// loopback at which nothing listens. Where the machine's name server is one of its
	// own addresses, every look-up of a name is one.
	Ports int64
}

// Unreached reads the counters. They stay 0 in an enclosure without a network of its
// own.
func (n *Enclosure) Unreached() (u Unreached) {
	var buf [16 << 10]byte
	for _, fd := range n.counts {
		got, err := unix.Pread(fd, buf[:], 0)
		if err != nil {
			continue
		}
		u.add(buf[:got])
	}
	return u
}

// add adds the counters in a file. In snmp a line of names is followed by a line of
// their numbers, and in snmp6 each line is a name and its number.
func (u *Unreached) add(text []byte) {
	u.Hosts += column(text, "Ip: ", "OutNoRoutes") + column(text, "Ip6OutNoRoutes", "Ip6OutNoRoutes")
	u.Ports += column(text, "Udp: ", "NoPorts") + column(text, "Udp6NoPorts", "Udp6NoPorts")
}

// column returns the number that belongs to a name in the line that begins with start;
// 0 if there is none.
func column(text []byte, start, name string) int64 {
	at := bytes.Index(text, []byte(start))
	if at < 0 {
		return 0
	}
	line, below, _ := bytes.Cut(text[at:], []byte("\n"))
	skip := 1 // the number stands behind the name
	if strings.HasSuffix(start, " ") {
		skip = bytes.Count(line[:max(0, bytes.Index(line, []byte(name)))], []byte(" "))
		line, _, _ = bytes.Cut(below, []byte("\n"))
	}
	words := bytes.Fields(line)
	if skip >= len(words) {
		return 0
	}
	n, _ := strconv.ParseInt(string(words[skip]), 10, 64) // no number: nothing was counted
	return n
}
