package sandbox

import "fmt"

// Tier is how strongly commands are confined. A higher one is stronger.
type Tier int

const (
	None       Tier = iota // not at all
	Landlock               // a Landlock domain and a filter of system calls for each command
	Namespaces             // the same, in namespaces with a view
)

// String gives the name that settings and records use.
func (t Tier) String() string {
	switch t {
	case Landlock:
		return "landlock"
	case Namespaces:
		return "namespaces"
	default:
		return "none"
	}
}

// ParseTier reads a tier that can be required.
func ParseTier(s string) (Tier, error) {
	for _, t := range []Tier{Landlock, Namespaces} {
		if s == t.String() {
			return t, nil
		}
	}
	return None, fmt.Errorf("%q is no tier: use namespaces or landlock", s)
}

// Mode says what happens if a machine does not provide the wanted tier. The zero
// Mode refuses.
type Mode int

const (
	Require    Mode = iota // nothing runs
	BestEffort             // the best tier of the machine is used, and recorded; a tier that is named is not replaced
	Off                    // nothing is confined
)

// String gives the name that settings use.
func (m Mode) String() string {
	switch m {
	case BestEffort:
		return "best-effort"
	case Off:
		return "off"
	default:
		return "require"
	}
}

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{Require, BestEffort, Off} {
		if s == m.String() {
			return m, nil
		}
	}
	return Require, fmt.Errorf("%q is no mode: use require, best-effort or off", s)
}
