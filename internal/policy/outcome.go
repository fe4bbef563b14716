package policy

import (
	"slices"
	"strings"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/command/programs"
	"tipstaff/internal/policy/language"
)

// outcomeOf returns the effects of a program's arguments: the command lines
// that the program would start, the variables that it sets for them, and the
// objections.
func outcomeOf(r programs.Reading) (o outcome) {
	for i := range r.Acts {
		o.act(&r.Acts[i])
	}
	return o
}

type outcome struct {
	starts []programs.Start
	sets   []*programs.Act // each with NAME=VALUE
	faults []fault
}

// act adds what one act of a program comes to: a command line that it starts,
// or an objection. An act of an unknown kind is an objection.
func (o *outcome) act(a *programs.Act) {
	switch a.Kind {
	case programs.Starts:
		o.start(a, a.Start)
	case programs.RunsLine:
		o.line(a, a.By, a.Text)
	case programs.RunsValue:
		o.program(a, a.By, a.Text)
	case programs.PutsInEnv:
		o.sets = append(o.sets, a)
	case programs.Sets:
		o.setting(a)
	case programs.SetsNamed:
		key, value, _ := strings.Cut(a.Text, "=")
		o.named(a, key, value)
	case programs.RunsCode:
		if found := programs.CodeStarts(a.Of, a.Text); found != "" {
			o.fault(a, found, "which makes "+a.By+" start other programs, or cannot be followed")
		}
	default:
		o.fault(a, a.Text, a.Of)
	}
}

func (o *outcome) fault(a *programs.Act, found, why string) {
	o.faults = append(o.faults, fault{a.Index, found, why})
}

// start adds a command line that an act starts.
func (o *outcome) start(a *programs.Act, s programs.Start) {
	if len(s.Words) > 0 {
		s.Itself = s.Itself || slices.Contains(a.Table.Itself, s.Words[0])
		o.starts = append(o.starts, s)
	}
}

// line adds text as a command line that a shell, or a splitter like one, will
// run. Text that cannot be split is not judged, nor is what a shell expands into
// other words by its form; and neither are backslashes, which such splitters read
// in different ways.
func (o *outcome) line(a *programs.Act, by, text string) {
	line, err := cmdline.Read(text)
	if err != nil || strings.Contains(text, `\`) {
		o.fault(a, text, by+" would run it, and it is more than one plain command")
		return
	}
	s := a.Start
	s.Words, s.By, s.InOne = append(line.Words, a.More...), by, true
	o.start(a, s)
}

// program judges a command line that an option or a setting names.
func (o *outcome) program(a *programs.Act, by, text string) {
	if !isHarmlessProgram(text) {
		o.line(a, by, text)
	}
}

// isHarmlessProgram reports whether a value turns a program off, or names one
// that only copies text.
func isHarmlessProgram(value string) bool {
	switch strings.ToLower(value) {
	case "", ":", "cat", "true", "false", "no", "none", "0", "/dev/null":
		return true
	}
	return false
}

// setting judges KEY=value, or "KEY value", given to an option.
func (o *outcome) setting(a *programs.Act) {
	key, value := a.Text, ""
	if i := strings.IndexAny(key, "= \t"); i >= 0 {
		key, value = key[:i], strings.Trim(key[i:], "= \t")
	}
	named := matchesKey(a.Table.Settings, key)
	switch {
	case named && a.FromName:
		o.fault(a, a.Text, "a setting that names a program, which nobody sees here")
	case named:
		o.named(a, key, value)
	case len(a.Table.Safe) > 0 && !matchesKey(a.Table.Safe, key):
		o.fault(a, a.Text, "a setting that is not known to be harmless")
	}
}

// named judges a setting that may name a program.
func (o *outcome) named(a *programs.Act, key, value string) {
	if !matchesKey(a.Table.Settings, key) {
		return
	}
	by := a.By + " " + key
	key = strings.ToLower(key)
	command, shell := strings.CutPrefix(value, "!")
	switch plain := isPath(strings.ReplaceAll(value, " ", "")); {
	case shell:
		o.line(a, by, command)
	case strings.HasPrefix(key, "alias."):
		s := a.Start
		s.Words, s.By, s.Itself, s.InOne, s.Open = append([]string{"git"}, gitWords(value)...), by, true, true, false
		o.start(a, s)
	case strings.HasPrefix(key, "credential.") && plain && !strings.Contains(value, "/"):
		// The name of a helper that is part of git.
	case key == "core.hookspath" && plain && value[0] != '/' && !strings.Contains(value, ".."):
		// A directory of the workspace, like its own .git/hooks.
	default:
		o.program(a, by, value)
	}
}

// gitWords splits a git alias, which is a command line for git itself: no shell
// reads it, so operators in it are words.
func gitWords(alias string) []string {
	words, err := cmdline.Split(alias)
	if err != nil {
		words = strings.Fields(unquoted(alias))
	}
	return words
}

func matchesKey(patterns []string, key string) bool {
	key = strings.ToLower(strings.TrimSpace(key))
	return slices.ContainsFunc(patterns, func(p string) bool { return language.MatchGlob(p, key) })
}
