package gitpush

import (
	"slices"
	"strings"
)

const (
	branches  = "refs/heads/"
	tags      = "refs/tags/"
	anyBranch = "refs/heads/*"
	anyTag    = "refs/tags/*"
	anyRef    = "refs/*"
)

// namespaces are directories below refs/ that repositories have, so that
// heads/x can be refs/heads/x.
var namespaces = []string{"refs", "heads", "tags", "remotes", "notes", "replace", "pull", "pull-requests", "merge-requests", "changes", "for", "drafts", "meta", "users", "groups", "keep-around", "environments", "pipelines", "bisect", "rewritten", "worktree", "original", "stash", "namespaces", "prefetch"}

func inNamespace(name string) bool {
	first, _, deep := strings.Cut(name, "/")
	return deep && slices.Contains(namespaces, first)
}

// Pattern returns an operator's pattern of refs in full: what does not begin
// with refs/ is about branches, except * alone.
func Pattern(written string) string {
	if strings.HasPrefix(written, "refs/") {
		return written
	}
	return branches + written
}

// Within reports whether the update is certain to be of refs that one of the
// patterns takes in.
func (u *Update) Within(patterns []string) bool {
	for _, name := range u.To {
		if !slices.ContainsFunc(patterns, func(p string) bool { return takesIn(p, name) }) {
			return false
		}
	}
	return len(u.To) > 0
}

// MayMeet reports whether the update may be of a ref that one of the patterns
// takes in.
func (u *Update) MayMeet(patterns []string) bool {
	matches := func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return meet(p, name) })
	}
	return slices.ContainsFunc(u.To, matches) || slices.ContainsFunc(u.MayBe, matches)
}

// takesIn reports whether a pattern takes in every name of another one. A * in
// it is a sign like others, which only a * takes in.
func takesIn(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// longestName bounds what meet compares; names of refs are shorter than a path.
const longestName = 4096

// meet reports whether some name fits both patterns.
func meet(a, b string) bool {
	if !strings.Contains(b, "*") {
		return takesIn(a, b)
	}
	if !strings.Contains(a, "*") {
		return takesIn(b, a)
	}
	if len(a) > longestName || len(b) > longestName {
		return true
	}
	// ends[j]: the rest of a from i and of b from j fit one name.
	next := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		ends := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				ends[j] = true
			case i < len(a) && a[i] == '*':
				ends[j] = next[j] || j < len(b) && ends[j+1]
			case j < len(b) && b[j] == '*':
				ends[j] = ends[j+1] || i < len(a) && next[j]
			default:
				ends[j] = i < len(a) && j < len(b) && a[i] == b[j] && next[j+1]
			}
		}
		next = ends
	}
	return next[0]
}
