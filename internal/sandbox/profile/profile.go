package profile

import "fmt"

// Profile is how much of the file system commands may use.
type Profile int

const (
	Workspace Profile = iota // reads the system, writes the workspace and caches
	ReadOnly                 // reads the system, writes nothing
	Open                     // no rules for files
)

// String returns the name that settings and records use.
func (p Profile) String() string {
	switch p {
	case Workspace:
		return "workspace"
	case ReadOnly:
		return "read-only"
	case Open:
		return "open"
	default:
		return fmt.Sprintf("profile %d", int(p))
	}
}

// Parse reads the name of a profile.
func Parse(s string) (Profile, error) {
	for _, p := range []Profile{Workspace, ReadOnly, Open} {
		if s == p.String() {
			return p, nil
		}
	}
	return Workspace, fmt.Errorf("%q is no profile: use workspace, read-only or open", s)
}

// MarshalText returns the name.
func (p Profile) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
