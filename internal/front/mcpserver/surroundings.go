package mcpserver

import (
	"fmt"
	"strings"
)

// Bounds of the bytes that the instructions use for directories and hosts.
// Refusals name what is left out.
const (
	maxDirectory = 120
	maxWritable  = 180
	maxHosts     = 120
)

// surroundings says where commands run and how they are confined. It leaves out
// what is not known.
func surroundings(s Summary) string {
	var b strings.Builder
	if s.Directory != "" && len(s.Directory) <= maxDirectory {
		fmt.Fprintf(&b, "They start in %s unless you give cwd.\n", s.Directory)
	}
	if s.Restricted {
		b.WriteString("cwd is confined to the directories that the operator has named.\n")
	}
	if s.Tier == "none" {
		b.WriteString("No sandbox confines them: they may write and reach what the server's user may.\n")
		return b.String()
	}
	if s.Tier != "" {
		fmt.Fprintf(&b, "A sandbox (%s) confines them: ", s.Tier)
		switch {
		case s.Open:
			b.WriteString("they write wherever the server's user may")
		case len(s.Writable) > 0:
			fmt.Fprintf(&b, "they write only in %s, TMPDIR and caches of tools", listed(s.Writable, maxWritable))
		default:
			b.WriteString("they write only in TMPDIR")
		}
		if s.Tier == "namespaces" && !s.Open {
			b.WriteString(" (/tmp is their own)")
		}
		b.WriteString("; secrets are hidden; no Unix sockets of the machine, no tracing.\n")
	}
	switch s.Network {
	case "":
	case "on":
		b.WriteString("The network is open.\n")
	case "off":
		b.WriteString("There is no network.\n")
	default:
		fmt.Fprintf(&b, "The network: only %s, through the proxy in HTTP_PROXY.\n", listed(strings.Split(s.Network, ","), maxHosts))
	}
	return b.String()
}

// here begins the line of [Confined], which is the same for both families of tools.
const here = "Here: "

// Confined returns the same in one line, for a tool's description: "" if
// nothing is known.
func Confined(s Summary) string {
	var parts []string
	if len(s.Writable) > 0 && !s.Open && s.Tier != "none" {
		parts = append(parts, "writable: "+listed(s.Writable, maxDirectory)+", TMPDIR")
	}
	if s.Network != "" {
		parts = append(parts, "network: "+listed(strings.Split(s.Network, ","), maxDirectory/2))
	}
	if s.Tier != "" {
		parts = append(parts, "sandbox: "+s.Tier)
	}
	if len(parts) == 0 {
		return ""
	}
	return here + strings.Join(parts, "; ") + "."
}
