package sandbox

import "fmt"

// Elsewhere says that a command would start in another directory than the one that
// was judged: commands have a private directory in its place.
type Elsewhere struct{ Dir string }

func (e *Elsewhere) Error() string {
	return fmt.Sprintf("commands do not see %s of the machine: they have a directory of their own in its place", e.Dir)
}
