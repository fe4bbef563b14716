package tipstaff

import "strings"

// Violation is a change of a file that steers programs outside of the sandbox.
// A command has made it or may have made it, and it was put back.
type Violation struct {
	Path  string // the file that was changed
	Why   string // what is wrong with the change
	Aside string // where the changed file is kept; "": there was nothing to keep
	Fault string // why the file could not be put back; "": it was put back
	Ended bool   // the commands that could have made the change were ended
}

// String describes the violation in sentences, for answers and logs.
func (v Violation) String() string {
	var b strings.Builder
	b.WriteString("A change of " + v.Path + " was ")
	if v.Fault == "" {
		b.WriteString("put back: ")
	} else {
		b.WriteString("found and could not be put back (" + v.Fault + "): ")
	}
	b.WriteString(strings.TrimSuffix(v.Why, ".") + ".")
	if v.Aside != "" {
		b.WriteString(" What was found there is kept in " + v.Aside + ".")
	}
	if v.Ended {
		b.WriteString(" The commands that could have made the change were ended.")
	}
	return b.String()
}
