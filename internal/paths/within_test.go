package paths

import (
	"path/filepath"
	"testing"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path string
		dirs []string
		want bool
	}{
		{"/a", []string{"/a"}, true},
		{"/a/b/c", []string{"/a"}, true},
		{"/ab", []string{"/a"}, false},
		{"/", []string{"/a"}, false},
		{"/a", []string{"/a/b"}, false},
		{"/", []string{"/"}, true},
		{"/a", []string{"/"}, true},
		{"/c/d", []string{"/a", "/c"}, true},
		{"/c/d", []string{"/a", "/b"}, false},
		{"/a", nil, false},
		{"a", []string{"/"}, false},
	} {
		dirs := make([]string, len(c.dirs))
		for i := range dirs {
			dirs[i] = filepath.FromSlash(c.dirs[i])
		}
		if got := Within(filepath.FromSlash(c.path), dirs...); got != c.want {
			t.Errorf("%q within %q: %t", c.path, c.dirs, got)
		}
	}
}
