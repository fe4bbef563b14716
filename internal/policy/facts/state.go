package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// StateOf identifies the state of some files without reading them: where the
// paths lead, and the sizes and times of the files there. The state changes if
// a file is written, replaced by renaming, or removed, or if a link on its path
// is changed. The state of several files is the concatenation of theirs. fresh
// says that a file changed so recently that its next change might not alter the
// state, because file systems record times in steps.
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

// change is when a file was last changed, and which file it is.
type change struct {
	text string
	at   time.Time
}
