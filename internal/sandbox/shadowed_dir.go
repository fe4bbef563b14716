package sandbox

import "fmt"

// ErrShadowedDir says that a command would start in another directory than the one that
// was judged: commands have a private directory in its place.
type ErrShadowedDir struct{ Dir string }

// Error names the directory that commands do not see.
func (e *ErrShadowedDir) Error() string {
	return fmt.Sprintf("commands do not see %s of the machine: they have a directory of their own in its place", e.Dir)
}
