//go:build linux

package guard

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tipstaff/internal/command/gitconfig"
	"tipstaff/internal/paths"
)

// judge returns why a content may not replace the accepted one, or "" if it
// may. A removal is allowed, because a missing file steers nothing; its
// replacement is judged.
func (g *Guard) judge(it *item, now content) string {
	switch {
	case now.form == nothing, now.same(it.accepted):
		return ""
	case now.form == unseen:
		return fmt.Sprintf("it is %s now", now)
	case it.Kind == Config:
		return g.judgeConfig(it, now)
	case it.Kind == Pointer, it.Kind == Entry && now.form == file:
		return g.judgePointer(it, now)
	case it.Kind == WorkTree:
		return it.judgeWorkTree(now)
	case it.Kind == Entry && now.form == directory:
		return ""
	case it.Kind == Fixed && !it.New && len(it.added(now)) == 0:
		return ""
	case it.Kind == Fixed && it.New && !it.byName():
		return "" // the check that found it has judged it
	case it.Kind == Fixed && it.New && len(it.unknown(now)) == 0:
		return ""
	}
	return it.Why
}

func (g *Guard) judgeConfig(it *item, now content) string {
	switch {
	case now.form != file:
		return fmt.Sprintf("it is %s now, and was a configuration of git", now)
	case !now.whole():
		return fmt.Sprintf("it is larger than %d bytes", mostFile)
	}
	if err := g.repository(it).Judge(it.accepted.text, now.text); err != nil {
		return err.Error()
	}
	return ""
}

func (g *Guard) repository(it *item) gitconfig.Repository {
	r := gitconfig.Repository{Dir: it.GitDir}
	if hooks := g.hooksPaths.Load(); hooks != nil {
		r.Hooks = *hooks
	}
	return r
}

// judgePointer judges a file .git by where it leads. Git creates the file
// empty, then writes it in one call.
func (g *Guard) judgePointer(it *item, now content) string {
	if now.form != file || !now.whole() {
		return fmt.Sprintf("it is %s now, and was a file that names a repository", now)
	}
	if it.New || len(now.text) == 0 {
		return ""
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(now.text), "\r\n"), "gitdir: ")
	if ok && !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(it.Path), to)
	}
	if ok && (g.find(filepath.Join(to, "config")) != nil || g.find(filepath.Join(to, "commondir")) != nil) {
		return ""
	}
	return fmt.Sprintf("it leads to %q, which is no repository that was there before", to)
}

// judgeWorkTree judges where a linked work tree is said to be. An empty file is one
// that git is about to write.
func (it *item) judgeWorkTree(now content) string {
	if now.form != file || !now.whole() {
		return fmt.Sprintf("it is %s now, and was a file that names a work tree", now)
	}
	to := strings.TrimRight(string(now.text), "\r\n")
	if to != "" && !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(it.Path), to)
	}
	if to == "" || filepath.Base(to) == ".git" && paths.Within(to, it.root) {
		return ""
	}
	return fmt.Sprintf("it leads to %q, which is no work tree that commands could make", to)
}

// emptied reports whether a file that had content is now empty. A program that
// rewrites a file truncates it first, and an empty file steers nothing.
func (c content) emptied(accepted content) bool {
	return c.form == file && c.whole() && len(c.text) == 0 && accepted.form == file && c.mode&^accepted.mode&0o111 == 0
}

// beyond returns the names in a directory whose content is not the accepted one
// and is not merely emptied. For anything but a directory, the name is "".
func (c content) beyond(accepted content) (list []string) {
	if c.form != directory || accepted.form != directory || c.names == nil || accepted.names == nil {
		if c.form == nothing || c.emptied(accepted) || c.same(accepted) {
			return nil
		}
		return []string{""}
	}
	for name, in := range c.names {
		if len(in.beyond(accepted.names[name])) > 0 {
			list = append(list, name)
		}
	}
	return list
}

// added returns the names in an item that existed before that are neither
// accepted nor git-lfs's own hooks.
func (it *item) added(now content) []string {
	return slices.DeleteFunc(now.beyond(it.accepted), func(name string) bool { return it.byName() && lfsHook(name, now.names[name]) })
}

// byName reports whether git obeys every file of a directory by its name.
func (it *item) byName() bool {
	base := filepath.Base(it.Path)
	return it.Kind == Fixed && (base == "hooks" || base == "branches")
}

// unknown returns the names in such a directory, if it is new, that git did not
// create.
func (it *item) unknown(now content) (list []string) {
	if now.form != directory || now.names == nil {
		return []string{""}
	}
	for name, one := range now.names {
		if !it.accepted.names[name].same(one) && (one.form != file || !strings.HasSuffix(name, ".sample")) && !lfsHook(name, one) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// lfsHook reports whether a hook is one of those that git-lfs installs wherever
// it is used and they are missing. They call git-lfs, if the person who runs
// git has it, and do nothing else. The text that they print differs between
// versions and is inert: it contains nothing that a shell expands.
func lfsHook(name string, c content) bool {
	if c.form != file || !c.whole() {
		return false
	}
	if len(c.text) == 0 {
		return lfsNames[name] // git-lfs is writing it; an empty hook does nothing
	}
	m := lfsText().FindSubmatch(c.text)
	return m != nil && string(m[1]) == name && lfsNames[name]
}

var lfsNames = map[string]bool{"post-checkout": true, "post-commit": true, "post-merge": true, "pre-push": true}

var lfsText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 \|\| \{ (?:echo|printf) >&2(?: "(?:[^"$\\\n` + "`" + `]|\\n)*")+; exit 2; \}\n` +
		`git lfs ([a-z-]+) "\$@"\n?\z`)
})

// harmless returns the part of a new item that can be accepted.
func (g *Guard) harmless(it *item, now content) content {
	switch {
	case it.Kind == Config && now.form == file && now.whole():
		c := now
		c.text = g.repository(it).Harmless(now.text)
		return c
	case it.Kind == Fixed && now.form == directory && now.names != nil:
		c := now
		c.names = maps.Clone(now.names)
		for _, name := range it.unknown(now) {
			delete(c.names, name)
		}
		return c
	}
	return content{}
}
