package language

import (
	"path"
	"slices"
	"strings"
)

// hooksPath is the only key of git's configuration that a policy can leave to
// commands.
const hooksPath = "core.hookspath="

// control checks the patterns of files that commands may change although they
// steer programs outside of the sandbox.
func (l *loader) control(list []Text) {
	for _, t := range list {
		if !t.At.Set() {
			continue
		}
		pattern := controlPattern(t.Value)
		parts := strings.Split(pattern, "/")
		switch {
		case strings.Contains(t.Value, "=") && !strings.HasPrefix(strings.ToLower(t.Value), hooksPath):
			l.faults.add(t.At, "write core.hooksPath=DIRECTORY, or a pattern of paths", "%q is no key that can be left to commands", cut(t.Value))
		case path.IsAbs(pattern), slices.Contains(parts, ".."):
			l.faults.add(t.At, "write a path as seen from the top of the work tree, as .husky/**", "%q leads out of the work tree", cut(t.Value))
		case pattern == "." || strings.Trim(parts[0], "*?") == "":
			l.faults.add(t.At, "begin with a name, as .husky/**", "%q takes in everything", cut(t.Value))
		case matches(parts[0], ".git"):
			l.faults.add(t.At, "leave it out", "%q takes in git's own directory", cut(t.Value))
		case badPattern(parts):
			l.faults.add(t.At, "", "%q is no pattern", cut(t.Value))
		}
	}
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func badPattern(parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { _, err := path.Match(part, ""); return err != nil })
}

// controlPattern returns the pattern for a value of control.allow: for
// core.hooksPath the directory and everything in it.
func controlPattern(value string) string {
	if strings.HasPrefix(strings.ToLower(value), hooksPath) {
		return path.Join(value[len(hooksPath):], "**")
	}
	return path.Clean(value)
}

// Control returns patterns of the files of a work tree, relative to its top,
// that commands may change although they steer programs outside of the sandbox.
// ** stands for any number of directories. Git's core.hooksPath may point to
// what they match.
func (p *Policy) Control() (patterns []string) {
	if p == nil {
		return nil
	}
	for _, t := range p.File.Control.Allow {
		patterns = append(patterns, controlPattern(t.Value))
	}
	return patterns
}
