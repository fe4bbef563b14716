package facts

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"tipstaff/internal/policy"
)

// usual are places where people have programs, but which a server that a client
// with a window starts does not have on its PATH. ~ is the home directory; of
// what * stands for, the last in order counts, which is the newest version.
var usual = []string{
	"~/.local/bin", "~/bin", "~/go/bin", "~/.cargo/bin", "~/.volta/bin", "~/.bun/bin", "~/.deno/bin",
	"~/.local/share/mise/shims", "~/.asdf/shims", "~/.pyenv/shims", "~/.rbenv/shims", "~/.rye/shims",
	"~/.nvm/versions/node/*/bin", "~/.local/share/fnm/node-versions/*/installation/bin", "~/.sdkman/candidates/*/current/bin",
	"~/.dotnet", "~/.nix-profile/bin",
	"/usr/local/go/bin", "/usr/lib/go-*/bin", "/usr/local/bin", "/usr/bin", "/bin",
	"/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin",
	"/nix/var/nix/profiles/default/bin", "/run/current-system/sw/bin",
}

// UsualDirs returns the directories of this machine in which people have programs,
// as far as they can be trusted ([Trusted]). It starts no shell to ask.
func UsualDirs(home string) SearchPath {
	var found SearchPath
	for _, pattern := range usual {
		if rest, ok := cutHome(pattern); ok {
			if home == "" {
				continue
			}
			pattern = filepath.Join(quoteGlob(home), rest)
		}
		dirs, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil {
			continue
		}
		slices.SortFunc(dirs, compareVersions)
		if len(dirs) > 1 && filepath.Base(filepath.Dir(dirs[0])) != "current" {
			dirs = dirs[len(dirs)-1:]
		}
		for _, dir := range dirs {
			found = append(found, Trusted(dir)...)
		}
	}
	return found
}

func cutHome(pattern string) (rest string, ok bool) {
	if len(pattern) > 2 && pattern[:2] == "~/" {
		return pattern[2:], true
	}
	return pattern, false
}

// quoteGlob takes the special meaning from a path.
func quoteGlob(path string) string {
	var out []rune
	for _, r := range path {
		if filepath.Separator == '/' && slices.Contains([]rune(`*?[\`), r) {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// compareVersions orders paths so that v9 comes before v10.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		x, restA := leadingNumber(a)
		y, restB := leadingNumber(b)
		if x >= 0 && y >= 0 {
			if x != y {
				return x - y
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// leadingNumber is the number at the beginning of a text; -1: there is none.
func leadingNumber(s string) (n int, rest string) {
	i := 0
	for i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if i == 0 {
		return -1, s
	}
	return n, s[i:]
}

// UnsearchedDir returns the directory in which a program is that the server does not
// find, because the directory is not on its PATH; "" if it is in none of the
// usual places.
func (h *Host) UnsearchedDir(name string) string {
	for _, dir := range UsualDirs(h.home) {
		if slices.Contains(h.search, dir) {
			continue
		}
		if _, err := (SearchPath{dir}).find(name); err == nil {
			return dir
		}
	}
	return ""
}

// mostNear bounds the names among which Near searches.
const mostNear = 20_000

// Near returns the program that a word was probably meant to be: of those that the server
// finds by their names, or of the directory that the word names, relative to dir; "" if
// there is none.
func (h *Host) Near(word string, dir policy.Directory) string {
	places := h.search
	up, name := path.Split(word)
	if up != "" {
		places = SearchPath{filepath.Dir(absolute(word, dir))}
	}
	var names []string
	for _, place := range places {
		entries, err := os.ReadDir(place)
		if err != nil || len(names)+len(entries) > mostNear {
			continue
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	near := policy.Meant(name, names, func(n string) bool {
		_, err := places.find(n)
		return err == nil
	})
	if near == "" {
		return ""
	}
	return up + near
}
