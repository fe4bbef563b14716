package natsx

import (
	"fmt"
	"slices"
	"strings"
)

// engineAccount has JetStream, and no user. A member cannot have this name.
const engineAccount = "ENGINE"

// jetStreamInfo is where a member asks whether there is JetStream. Where an account does
// not import this, the server has it import all of JetStream's interface, for itself.
const jetStreamInfo = "$JS.API.INFO"

// Account is a space of subjects of its own in a NATS server: nothing that is sent in one
// is heard in another but by its imports.
type Account struct {
	Name      string
	JetStream bool
	Member    *Member  // its one user; nil: none
	Subscribe []string // what the user may listen to
	Exports   []string
	Imports   []Import
}

// Import lets in what another account sends (a stream), or sends there what is asked
// here, and brings the answer back (a service).
type Import struct{ Kind, From, Subject string }

// Accounts are those of the members, and the engine's. A member's account lets in what
// others may send and it may hear, and sends to the engine what it may ask. So an answer
// of the engine's, wherever its asker wants it, goes no further than the asker's own
// messages do.
func (c ServerConfig) Accounts() []Account {
	all := []Account{{Name: engineAccount, JetStream: true, Exports: []string{
		// One request can bring many messages.
		`service: "$JS.API.DIRECT.GET.*", response_type: stream`,
		`service: "$JS.API.DIRECT.GET.*.>"`, `service: "$JS.API.STREAM.*.*"`, `service: "` + jetStreamInfo + `"`,
		`service: "$KV.>"`, `service: "` + copyKeys + `>"`, `stream: "` + leaseNews + `>"`,
	}}}
	said := make([][]string, len(c.Members)) // by each member, to others
	for i, m := range c.Members {
		said[i] = slices.DeleteFunc(m.Publish(), forEngine)
	}
	for i := range c.Members {
		m := &c.Members[i]
		a := Account{Name: m.Name, Member: m}
		for _, s := range m.Publish() {
			switch {
			case s == userInfo: // the server lets that in
			case forEngine(s):
				a.Imports = append(a.Imports, Import{"service", engineAccount, s})
			default:
				a.Exports = append(a.Exports, fmt.Sprintf("stream: %q", s))
			}
		}
		for _, heard := range m.Subscribe() {
			hears := func(from, sent string) {
				if s := meet(sent, heard); s != "" {
					a.Imports = append(a.Imports, Import{"stream", from, s})
				}
			}
			hears(engineAccount, leaseNews+">")
			for j, other := range c.Members {
				for _, sent := range said[j] {
					if j != i {
						hears(other.Name, sent)
					}
				}
			}
		}
		a.Subscribe = append(m.Subscribe(), c.keysFor(*m)...)
		all = append(all, a)
	}
	return all
}

// keysFor says to those who read what others leave with the engine whose key is whose: the
// server answers a member that asks what it may ([Conn.isMember]).
func (c ServerConfig) keysFor(reader Member) []string {
	var all []string
	for _, m := range c.Members {
		for _, r := range m.Roles {
			// A runner reads of others only who is frozen, and its own.
			if reads := m.Name == reader.Name || !slices.Equal(reader.Roles, []Role{Runner}); reads && (r == Runner || r == Gateway) {
				all = append(all, keySubject(r.letter()+"."+m.Name, m.Key))
			}
		}
	}
	return all
}

// forEngine reports whether it is JetStream that takes what is sent to a subject.
func forEngine(subject string) bool {
	return strings.HasPrefix(subject, "$") || strings.HasPrefix(subject, copyKeys)
}

// meet is the pattern of all subjects that match both; "": there are none.
func meet(a, b string) string {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	var out []string
	for i := 0; ; i++ {
		switch {
		case i < len(x) && x[i] == ">" && i < len(y):
			return strings.Join(append(out, y[i:]...), ".")
		case i < len(y) && y[i] == ">" && i < len(x):
			return strings.Join(append(out, x[i:]...), ".")
		case i == len(x) && i == len(y):
			return strings.Join(out, ".")
		case i >= len(x) || i >= len(y):
			return ""
		case x[i] == "*":
			out = append(out, y[i])
		case y[i] == "*" || x[i] == y[i]:
			out = append(out, x[i])
		default:
			return ""
		}
	}
}
