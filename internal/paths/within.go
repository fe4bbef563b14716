// Package paths compares paths by their text alone. It follows no symbolic
// links: for answers about real files, pass canonical paths.
package paths

import (
	"path/filepath"
	"strings"
)

// Within reports whether path is one of dirs or lies below one, compared by
// whole elements: /ab does not lie within /a. All paths must be absolute and
// clean. Without dirs, the result is false.
func Within(path string, dirs ...string) bool {
	const separator = string(filepath.Separator)
	for _, dir := range dirs {
		// Only a root ends with a separator.
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, separator))
		if ok && (rest == "" || rest[:1] == separator) {
			return true
		}
	}
	return false
}
