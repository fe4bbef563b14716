//go:build linux

package sandbox

// socketWords are in what programs print when they cannot make a Unix socket.
var socketWords = []string{
	"eafnosupport", "address family not supported", "docker daemon", "docker.sock", "socket", "listen eperm", "connect eperm",
	"authentication agent", "connecting to agent", "gpg-agent", "connect to the agent", "keyboxd", "ssh_auth_sock",
	"display", "x server", "connect to bus", "d-bus", "dbus-",
}

// unixSockets are programs and servers that use Unix sockets, and alternatives to
// each.
var unixSockets = []struct {
	complaint *pattern
	not       *pattern // a connection over TCP is not refused here
	instead   string
	door      string // the sandbox does not stop a command that has this one
}{
	{
		newPattern(`(?i)docker daemon|docker\.sock|podman\.sock`), newPattern(`tcp://`),
		"so the daemon of Docker cannot be reached: leave what needs containers to a person, or to a system that builds and tests them.", "",
	},
	{
		newPattern(`(?i)gpg-agent|\bgpg\b.*agent|keyboxd`), nil,
		"so no agent of gpg can be reached: leave signing with gpg to a person, or sign with an SSH key if the operator lends the agent of ssh.", "",
	},
	{
		newPattern(`(?i)authentication agent|connecting to agent|connect to the agent|SSH_AUTH_SOCK`), nil,
		"so no agent of ssh can be reached: if the task needs one, ask the operator for credentials: [ssh-agent] in the policy, or leave signing and signing in to a person.",
		"ssh-agent",
	},
	{
		newPattern(`(?i)(can't|cannot|could not|unable to|failed to|no) (open |connect to )?(the )?(x )?(display|x server)`), newPattern(`(?i)(display|server):? *"?[\w.-]+:\d`),
		"so there is no display: run the program without windows (headless), or leave this step to a person.", "",
	},
	{
		newPattern(`(?i)connect to (the )?(system |session |user )?(scope )?(message )?(bus|d-bus)|\bd-?bus\b.*(socket|connect)`), nil,
		"so neither D-Bus nor systemd can be reached: leave services of the machine to a person.", "",
	},
	{
		newPattern(`(?i)socket "?/\S*(PGSQL|mysql|mariadb)|through socket|could not create socket|create UNIX socket`), newPattern(`(?i)port \d+ failed`),
		"", "",
	},
	{
		newPattern(`(?i)EAFNOSUPPORT|address family not supported|\b(listen|connect) EPERM\b.* /|unix socket.*(not permitted|failed)|(dial|listen) unix .*not permitted`),
		newPattern(`(?i)inet6|ipv6|\[?[0-9a-f]*::[0-9a-f:]*`),
		"", "",
	},
}

// whyNoSocket explains a socket that the filter of system calls refused.
func (c *Confined) whyNoSocket(p remark) string {
	for _, u := range unixSockets {
		if !u.complaint.Match(p.line) || u.not != nil && u.not.Match(p.line) {
			continue
		}
		if _, lent := c.paths[u.door]; lent {
			return ""
		}
		instead := u.instead
		if instead == "" {
			instead = c.insteadOfUnix()
		}
		return "the sandbox gives commands no Unix sockets, " + instead
	}
	return ""
}

// insteadOfUnix says how processes can connect instead, which depends on the network
// setting.
func (c *Confined) insteadOfUnix() string {
	switch {
	case c.session.settings.network.Reach == AllNetwork:
		return "nor other kinds beside TCP and UDP: let the program use TCP on 127.0.0.1 if it can; pipes work."
	case c.sandbox.status.tier == Landlock:
		return "and no network either: let the program work without sockets, through pipes or files."
	default:
		return "nor other kinds beside TCP and UDP: processes of one command can use TCP on 127.0.0.1 among themselves, and pipes; servers of the machine are out of reach."
	}
}
