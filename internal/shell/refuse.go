package shell

import "mvdan.cc/sh/v3/syntax"

// refuse returns a [*Fault] for the first thing in a file that would not do here
// what it does in Bash.
func refuse(file *syntax.File) error {
	depth := 0
	var found *Fault
	syntax.Walk(file, func(n syntax.Node) bool {
		switch {
		case n == nil:
			depth--
			return true
		case found != nil:
			return false
		}
		if depth++; depth > maxDepth*10 {
			found = fault(n.Pos(), "Split the script.", "parts of the script lie more than %d deep within each other", maxDepth)
		}
		return found == nil
	})
	if found != nil {
		return found
	}
	return nil
}
