package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"tipstaff/internal/profile"
)

// Terms tighten what the server's settings say, for the commands of one rule.
// Doors and Reveal are what the rule lends; in everything else terms never loosen:
// of two profiles the stricter one counts, of two lists
// of hosts what both have, of two limits the lower one. The zero Terms change
// nothing.
type Terms struct {
	Tier    Tier             // at least this, or the command is refused
	Profile *profile.Profile // nil: the server's
	Network *Network         // nil: the server's
	Limits  Limits
	// Doors says that the command may have doors of the server's; see [Door].
	Doors bool
	// Reveal is for which credentials files are not hidden: names of the third
	// column of profile/builtin/secrets.txt. Commands under other terms see nothing
	// of them.
	Reveal []string
}

// ErrUnmet says that terms ask for more than this server can hold a command to.
// They are never weakened to something else.
var ErrUnmet = errors.New("the policy confines this command more than this server can")

// given reports whether they ask for anything.
func (t Terms) given() bool {
	return t.Tier != None || t.Profile != nil || t.Network != nil || t.Limits != Limits{} || t.Doors || len(t.Reveal) > 0
}

// key tells terms apart.
func (t Terms) key() string {
	if !t.given() {
		return ""
	}
	key := fmt.Sprintf("%+v", t.Limits)
	if t.Profile != nil {
		key += " profile " + t.Profile.String()
	}
	if t.Network != nil {
		key += " network " + t.Network.String()
	}
	if t.Doors {
		key += " doors"
	}
	if len(t.Reveal) > 0 {
		key += " reveal " + strings.Join(t.Reveal, " ")
	}
	return key
}

// stricter gives the one of two profiles that allows less.
func stricter(a, b profile.Profile) profile.Profile {
	for _, p := range []profile.Profile{profile.ReadOnly, profile.Workspace} {
		if a == p || b == p {
			return p
		}
	}
	return profile.Open
}

// intersect gives what both allow.
func (n Network) intersect(o Network) Network {
	switch {
	case n.Reach == AllNetwork:
		return o
	case o.Reach == AllNetwork:
		return n
	case n.Reach == ListedHosts && o.Reach == ListedHosts:
		if both := n.Hosts.Intersect(o.Hosts); !both.Empty() {
			return Network{Reach: ListedHosts, Hosts: both}
		}
	}
	return Network{}
}

// lower gives the lower of each limit.
func (l Limits) lower(o Limits) Limits {
	return Limits{
		MemoryBytes: lower(l.MemoryBytes, o.MemoryBytes), Processes: lower(l.Processes, o.Processes), CPU: lower(l.CPU, o.CPU),
		FileBytes: lower(l.FileBytes, o.FileBytes), OpenFiles: lower(l.OpenFiles, o.OpenFiles),
	}
}

// lower gives the lower one; 0 is none.
func lower[T ~int | ~int64](a, b T) T {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}
