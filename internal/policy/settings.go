package policy

import (
	"slices"
	"strings"

	"tipstaff/internal/argv"
	"tipstaff/internal/rules"
)

// setting judges KEY=value, or "KEY value", given to an option.
func (r *startReader) setting(by, text string, index int, kind optionKind) {
	key, value := text, ""
	if i := strings.IndexAny(text, "= \t"); i >= 0 {
		key, value = text[:i], strings.Trim(text[i:], "= \t")
	}
	switch {
	case matchesKey(r.names, key) && kind == optionSettingEnv:
		r.fault(index, text, "a setting that names a program, which nobody sees here")
	case matchesKey(r.names, key):
		r.named(by, key, value, index)
	case len(r.safe) > 0 && !matchesKey(r.safe, key):
		r.fault(index, text, "a setting that is not known to be harmless")
	}
}

// named judges a setting that may name a program.
func (r *startReader) named(by, key, value string, index int) {
	if !matchesKey(r.names, key) {
		return
	}
	by += " " + key
	key = strings.ToLower(key)
	command, shell := strings.CutPrefix(value, "!")
	switch plain := isPath(strings.ReplaceAll(value, " ", "")); {
	case shell:
		r.line(by, command, index)
	case strings.HasPrefix(key, "alias."):
		r.add(started{words: append([]string{"git"}, gitWords(value)...), itself: true, by: by, index: index, inOne: true})
	case strings.HasPrefix(key, "credential.") && plain && !strings.Contains(value, "/"):
		// The name of a helper that comes with git.
	case key == "core.hookspath" && plain && value[0] != '/' && !strings.Contains(value, ".."):
		// A directory of the workspace, as its own .git/hooks.
	default:
		r.program(by, value, index)
	}
}

// gitWords splits a git alias, which is a command line of git's own: no shell
// reads it, so operators in it are words.
func gitWords(alias string) []string {
	words, err := argv.Split(alias)
	if err != nil {
		words = strings.Fields(unquoted(alias))
	}
	return words
}

// program judges a command line that an option or a setting names.
func (r *startReader) program(by, text string, index int) {
	if !isHarmlessProgram(text) {
		r.line(by, text, index)
	}
}

// isHarmlessProgram reports whether a value turns a program off, or names one
// that only passes text on.
func isHarmlessProgram(value string) bool {
	switch strings.ToLower(value) {
	case "", ":", "cat", "true", "false", "no", "none", "0", "/dev/null":
		return true
	}
	return false
}

func matchesKey(patterns []string, key string) bool {
	key = strings.ToLower(strings.TrimSpace(key))
	return slices.ContainsFunc(patterns, func(p string) bool { return rules.MatchGlob(p, key) })
}
