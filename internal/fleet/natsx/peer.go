package natsx

import (
	"fmt"
	"strings"
)

// Peer is a gateway or a runner as operators reach it: a process that is both is two.
type Peer struct {
	Role Role
	Address
}

// String is ROLE.NAME.INCARNATION, as in subjects; the role is a letter.
func (p Peer) String() string { return p.Role.letter() + "." + p.Address.String() }

// Called is how people know it, as "runner r1".
func (p Peer) Called() string { return string(p.Role) + " " + p.Name }

// ParsePeer reads what String wrote.
func ParsePeer(s string) (Peer, error) {
	letter, rest, _ := strings.Cut(s, ".")
	p := Peer{Role: Runner}
	switch letter {
	case Runner.letter():
	case Gateway.letter():
		p.Role = Gateway
	default:
		return Peer{}, fmt.Errorf("%q is no gateway and no runner", s)
	}
	var err error
	p.Address, err = ParseAddress(rest)
	return p, err
}

// Hears is where it listens to operators.
func (p Peer) Hears() string { return prefix + ".p." + p.String() }

// Tells is where p sends what belongs to token (one word without dots that cannot be
// guessed) to the operator with this address. Only p's own key may send there.
func (p Peer) Tells(operator Address, token string) string {
	return prefix + ".q." + operator.String() + "." + p.String() + "." + token
}

// AllTold is what the operator with this address subscribes to for all that is sent to it.
func AllTold(operator Address) string { return prefix + ".q." + operator.String() + ".>" }

// ParseTold reads a subject of [Peer.Tells]: who has sent, and what it belongs to.
func ParseTold(subject string) (from Peer, token string, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 8 || parts[0] != prefix || parts[1] != "q" {
		return Peer{}, "", fmt.Errorf("%q is no subject of an answer to an operator", subject)
	}
	from, err = ParsePeer(strings.Join(parts[4:7], "."))
	return from, parts[7], err
}
