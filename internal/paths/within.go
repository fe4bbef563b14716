// Package paths says which paths lie where, by their text alone. It follows no
// links: who asks about the machine asks with canonical paths.
package paths

import (
	"path/filepath"
	"strings"
)

// Within reports whether path is one of dirs or lies below one, name by name:
// /ab does not lie within /a. All of them are absolute and clean. Nothing lies
// within no directory.
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
