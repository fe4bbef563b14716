//go:build linux

package sandbox

import (
	"slices"
	"strings"
)

// socketWords are in what programs print when they cannot make a Unix socket, or find no
// server of the machine.
var socketWords = []string{
	"eafnosupport", "address family not supported", "esocktnosupport", "socket type not supported", "docker daemon", "docker.sock", "listen eperm",
	"authentication agent", "connecting to agent", "gpg-agent", "connect to the agent", "keyboxd", "ssh_auth_sock",
	"display", "x server", "connect to bus", "d-bus", "dbus-", "unix socket", "dial unix", "listen unix",
}

// machineSockets are servers of the machine that programs reach by Unix sockets, and
// alternatives to each.
var machineSockets = []struct {
	path      *pattern // of the socket
	complaint *pattern
	not       *pattern // a connection over TCP is not refused here
	instead   string
	door      string // the sandbox does not stop a command that has this one
}{
	{
		newPattern(`(docker|podman|containerd)[^/]*\.sock$`),
		newPattern(`(?i)docker daemon|docker\.sock|podman\.sock`), newPattern(`tcp://`),
		"Docker's socket is the machine: leave what needs containers to a person or a system that builds and tests them, or ask the operator for sockets: [docker] in the policy.", "",
	},
	{
		newPattern(`S\.(gpg-agent|keyboxd|dirmngr|scdaemon)`),
		newPattern(`(?i)gpg-agent|\bgpg\b.*agent|keyboxd`), nil,
		"leave signing with a person's keys to a person, or sign with an SSH key if the operator lends the agent of ssh. A gpg-agent that the command starts with a GNUPGHOME of its own works.", "",
	},
	{
		newPattern(`/(agent\.\d+|ssh-agent[^/]*|keyring/ssh)$|/ssh-[^/]+/agent`),
		newPattern(`(?i)authentication agent|connecting to agent|connect to the agent|SSH_AUTH_SOCK`), nil,
		"if the task needs an agent of ssh, ask the operator for credentials: [ssh-agent] in the policy, or leave signing and signing in to a person.",
		"ssh-agent",
	},
	{
		newPattern(`\.X11-unix/|/wayland-\d+$`),
		newPattern(`(?i)(can't|cannot|could not|unable to|failed to|no) (open |connect to )?(the )?(x )?(display|x server)`), newPattern(`(?i)(display|server):? *"?[\w.-]+:\d`),
		"run the program without windows (headless), or leave this step to a person.", "",
	},
	{
		newPattern(`/bus$|system_bus_socket|/dbus-|systemd/private`),
		newPattern(`(?i)connect to (the )?(system |session |user )?(scope )?(message )?(bus|d-bus)|\bd-?bus\b.*(socket|connect)`), nil,
		"leave services of the machine to a person.", "",
	},
}

// noMachineSockets begins what is said of a socket that a command does not reach.
const noMachineSockets = "commands reach no Unix sockets of the machine"

// refuseSocket keeps that commands were not let to a socket, by its path or abstract name.
func (sess *sessionSandbox) refuseSocket(path string) {
	instead := "a server that a command of the same sandbox started is reached; for this one, ask the operator for sockets: in the policy."
	for _, m := range machineSockets {
		if m.path.Match([]byte(path)) {
			instead = m.instead
			break
		}
	}
	sess.refuse(refusal{why: "The sandbox refused a connection: " + noMachineSockets + ", and " + path + " is one: " + instead})
}

// datagrams matches what programs print that make Unix sockets for datagrams.
var datagrams = newPattern(`(?i)ESOCKTNOSUPPORT|socket type not supported`)

// noUnix matches what programs print that get no Unix socket.
var noUnix = newPattern(`(?i)EAFNOSUPPORT|address family not supported|\blisten EPERM\b.* /|unix socket.*(not permitted|failed)|(dial|listen) unix .*not permitted`)

// overIPv6 matches what programs print that get no socket of IPv6.
var overIPv6 = newPattern(`(?i)inet6|ipv6|\[?[0-9a-f]*::[0-9a-f:]*`)

// whyNoSocket explains a socket that the filter of system calls refused, and a server of
// the machine that the command was not told of.
func (c *Confined) whyNoSocket(p remark) string {
	switch {
	case slices.ContainsFunc(p.explained, func(t string) bool { return strings.Contains(t, noMachineSockets) }):
		return ""
	case datagrams.Match(p.line) && c.session.sockets != nil:
		return "the sandbox gives commands Unix sockets for streams and packets, none for datagrams, which could be sent to any server of the machine: let the program use a stream if it can."
	case noUnix.Match(p.line) && !overIPv6.Match(p.line) && c.session.sockets == nil:
		return "the sandbox gives commands no Unix sockets here, because this kernel cannot ask the server about connections: let the program use TCP on 127.0.0.1 if it can; pipes work."
	}
	for _, m := range machineSockets {
		if !m.complaint.Match(p.line) || m.not != nil && m.not.Match(p.line) {
			continue
		}
		if _, lent := c.paths[m.door]; lent || slices.ContainsFunc(c.session.settings.sockets, func(path string) bool { return m.path.Match([]byte(path)) }) {
			return ""
		}
		return noMachineSockets + ": " + m.instead
	}
	return ""
}
