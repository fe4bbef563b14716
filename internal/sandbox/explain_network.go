//go:build linux

package sandbox

import (
	"fmt"

	"tipstaff"
	"tipstaff/internal/command/programs"
)

// networkWords are in what programs print when they cannot reach a host.
var networkWords = []string{
	"unreachable", "enetunreach", "ehostunreach", "no route to host", "resolv", "resolution", "eai_again", "enotfound", "getaddrinfo",
	"no such host", "service not known", "address family not supported", "socket", "timed out", "timeout", "etimedout",
	"failed to connect", "connect to server", "new connection", "connection broken", "lookup", "connection failed",
}

// unreachable matches what programs print without a network, and timeout what they
// print when it does not answer.
var (
	unreachable = newPattern(`(?i)network is unreachable|no route to host|could ?n.t (resolve|connect to (server|host))|could not resolve|unable to resolve|(fail\w*|error) (to resolve|to lookup|resolving)|` +
		`name resolution|service not known|ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTFOUND|getaddrinfo|no such host|` +
		`address family not supported|\bsocket\b.*not permitted|not permitted.*\bsocket\b|new connection:|connection broken by|failed to connect to \S+ port`)
	timeout = newPattern(`(?i)ETIMEDOUT|i/o timeout|(connection|connect|connecting|operation|request|lookup|resolving|fetch\w*|download\w*|port \d+).{0,80}timed? ?out|(Read|Connect)Timeout(Error)?\b`)
	// loopback matches addresses of the command's own loopback.
	loopback = newPattern(`(?i)\b127\.\d+\.\d+\.\d+\b|\blocalhost\b|\[?::1\b`)
	// ownTimeout matches a test that reports its own time limit.
	ownTimeout = newPattern(`(?i)\b(test|hook|assert|spec)`)
)

// whyNoNetwork says that there is no network, if a program seems to need it.
func (c *Confined) whyNoNetwork(p remark) string {
	if c.session.settings.network.Reach == AllNetwork || loopback.Match(p.line) {
		return ""
	}
	if unreachable.Match(p.line) || timeout.Match(p.line) && !ownTimeout.Match(p.line) {
		return c.networkSentence()
	}
	return ""
}

// networkSentence says what commands can reach; "" if that is everything.
func (c *Confined) networkSentence() string {
	n := c.session.settings.network
	switch n.Reach {
	case AllNetwork:
		return ""
	case NoNetwork:
		return "Commands have no network here (" + c.whoOffline() + "), and more time does not change that: work with what is there, or ask the operator for the hosts that the task needs."
	default:
		return fmt.Sprintf("Commands reach the network only through the proxy that HTTP_PROXY and HTTPS_PROXY name, and only %s. If the host is one of these, let the program use the proxy; if not, ask the operator for it. More time does not help.", n)
	}
}

func (c *Confined) whoOffline() string {
	if c.sandbox.o.Network.Reach != NoNetwork {
		return "by the policy"
	}
	return "TIPSTAFF_NETWORK=off"
}

// explainSilence says that a program which fetches things, and whose time was up,
// may have waited for the network in vain.
func (c *Confined) explainSilence(r *tipstaff.Result) {
	n := c.session.settings.network
	if r.Cause != tipstaff.TimedOut || n.Reach == AllNetwork || !programs.Fetches(c.program) {
		return
	}
	have := "Commands have no network here (" + c.whoOffline() + ")"
	if n.Reach == ListedHosts {
		have = fmt.Sprintf("Commands reach no hosts but %s", n)
	}
	r.Refusals = append(r.Refusals, have+": if it waited for another host, more time does not help.")
}
