package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// StateOf tells one state of some files from another, without reading them:
// where the paths lead, and the sizes and times of what is there. A file that is
// written, renamed into place, removed, or reached through a link that leads
// elsewhere now changes it. The state of several files is that of each, one behind
// the other. fresh: something has changed so recently that the next change could
// look the same, because file systems count time in steps.
func StateOf(paths []string) (state string, fresh bool) {
	var b strings.Builder
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			var pe *fs.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			fmt.Fprintf(&b, "%q: %v\n", path, err)
			continue
		}
		changed := changeOf(info)
		fmt.Fprintf(&b, "%q: %d %d %s %s\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode(), changed.text)
		fresh = fresh || time.Since(changed.at) < settled
	}
	return b.String(), fresh
}

// change is when something about a file changed last, and which file it is.
type change struct {
	text string
	at   time.Time
}
