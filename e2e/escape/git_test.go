//go:build linux && !race

package escape

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// repository makes the minimum that git accepts as a repository.
func repository(t *testing.T, w *world, dir, config string) {
	t.Helper()
	for _, sub := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(w.path(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.put(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	w.put(t, filepath.Join(dir, "config"), "[core]\n\trepositoryformatversion = 0\n"+config)
	w.put(t, filepath.Join(dir, "hooks/post-commit"), "#!/bin/sh\n")
}

// repositories makes a family of them below ws/gN, and one in out/gN with a
// work tree in the workspace.
func repositories(t *testing.T, w *world, n int) {
	t.Helper()
	ws, out := filepath.Join("ws", "g"+strconv.Itoa(n)), filepath.Join("out", "g"+strconv.Itoa(n))
	for dir, config := range map[string]string{
		"plain/.git": "", "plain/deep/inner/.git": "", "plain/node_modules/x/.git": "", "plain/.git/modules/sub": "",
		"bare.git": "\tbare = true\n", "hookless/.git": "", "husky/.git": "\thooksPath = .husky\n", "moved/.git": "",
	} {
		repository(t, w, filepath.Join(ws, dir), config)
	}
	w.put(t, filepath.Join(ws, "husky/.husky/pre-commit"), "#!/bin/sh\n")
	w.put(t, filepath.Join(ws, "plain/file"), "content\n")
	if err := os.RemoveAll(w.path(ws, "hookless/.git/hooks")); err != nil {
		t.Fatal(err)
	}
	linkTree(t, w, filepath.Join(ws, "plain/.git"), filepath.Join(ws, "tree"))
	repository(t, w, filepath.Join(out, "repo/.git"), "")
	linkTree(t, w, filepath.Join(out, "repo/.git"), filepath.Join(ws, "far"))
}

// linkTree makes the files that git worktree add makes.
func linkTree(t *testing.T, w *world, git, tree string) {
	t.Helper()
	own := filepath.Join(git, "worktrees", filepath.Base(tree))
	w.put(t, filepath.Join(tree, ".git"), "gitdir: "+w.path(own)+"\n")
	w.put(t, filepath.Join(own, "gitdir"), w.path(tree, ".git")+"\n")
	w.put(t, filepath.Join(own, "commondir"), "../..\n")
	w.put(t, filepath.Join(own, "HEAD"), "ref: refs/heads/tree\n")
}

// TestEscapeE11AndE12WhatGitRunsStaysAsItIs: Landlock alone cannot protect
// single files in a writable directory; namespaces can. {g} is a family of
// repositories for this row.
func TestEscapeE11AndE12WhatGitRunsStaysAsItIs(t *testing.T) {
	rows := []escape{
		{says: "E11 no hook is added", try: "create {g}/plain/.git/hooks/pre-commit", namespaces: "EROFS"},
		{says: "E11 no hook is changed", try: "append {g}/plain/.git/hooks/post-commit", namespaces: "EROFS"},
		{says: "E11 no hook is removed", try: "unlink {g}/plain/.git/hooks/post-commit", namespaces: "EROFS"},
		{says: "E11 a hook's mode stays", try: "chmod {g}/plain/.git/hooks/post-commit 755", namespaces: "EROFS"},
		{says: "E11 the configuration is not changed", try: "append {g}/plain/.git/config", namespaces: "EROFS"},
		{says: "E11 nor replaced, as git does it", try: "rename {g}/plain/file {g}/plain/.git/config", namespaces: "EBUSY EXDEV"},
		{says: "E11 nor removed", try: "unlink {g}/plain/.git/config", namespaces: "EBUSY"},
		{says: "E11 nor given another name, to be written by", try: "link {g}/plain/.git/config {g}/plain/same", namespaces: "EXDEV"},
		{says: "E11 the index is written", try: "create {g}/plain/.git/index", namespaces: "ok"},
		{says: "E11 of a repository in another", try: "create {g}/plain/deep/inner/.git/hooks/pre-commit", namespaces: "EROFS"},
		{says: "E11 of one among others' code", try: "create {g}/plain/node_modules/x/.git/hooks/pre-commit", namespaces: "EROFS"},
		{says: "E11 of a submodule", try: "create {g}/plain/.git/modules/sub/hooks/pre-commit", namespaces: "EROFS"},
		{says: "E11 of a bare one", try: "create {g}/bare.git/hooks/pre-receive", namespaces: "EROFS"},
		{says: "E11 its configuration", try: "append {g}/bare.git/config", namespaces: "EROFS"},
		{says: "E11 hooks where there were none", try: "mkdir {g}/hookless/.git/hooks", namespaces: "EEXIST"},
		// The command has a private copy (TestTrackedHooksCanBeCheckedOut in
		// internal/sandbox).
		{says: "E11 hooks where the configuration says", try: "append {g}/husky/.husky/pre-commit", namespaces: "ok"},
		{says: "E11 they do not make room for others", try: "rename {g}/husky/.husky {g}/husky/h", namespaces: "EBUSY"},
		{says: "E11 a work tree belongs to no other repository", try: "overwrite {g}/tree/.git", namespaces: "EROFS"},
		{says: "E11 it is not replaced", try: "rename {g}/plain/file {g}/tree/.git", namespaces: "EBUSY EXDEV"},
		{says: "E11 nor does its directory say otherwise", try: "overwrite {g}/plain/.git/worktrees/tree/commondir", namespaces: "EROFS"},
		{says: "E11 of a repository outside, that a work tree uses", try: "create {o}/repo/.git/hooks/pre-commit", namespaces: "EROFS"},
		{says: "E11 its configuration", try: "append {o}/repo/.git/config", namespaces: "EROFS"},
		{says: "E11 its objects are written", try: "create {o}/repo/.git/objects/new", namespaces: "ok"},
		{says: "E11 its work tree outside is not", try: "create {o}/repo/new", namespaces: "EROFS"},

		{says: "E12 a repository does not make room for another", try: "rename {g}/plain/.git {g}/plain/git", namespaces: "EBUSY"},
		{says: "E12 nor change places with one", try: "exchange {g}/plain/.git {g}/plain/deep", namespaces: "EBUSY"},
		{says: "E12 hooks do not make room for others", try: "rename {g}/plain/.git/hooks {g}/plain/.git/h", namespaces: "EBUSY"},
		{says: "E12 a directory with a repository in it does not", try: "rename {g}/plain/deep {g}/plain/d", namespaces: "EBUSY"},
		{says: "E12 nor does its parent", try: "rename {g}/plain {g}/p", namespaces: "EBUSY"},
		{says: "E12 nor does that of a work tree", try: "rename {g}/tree {g}/t", namespaces: "EBUSY"},
		{says: "E12 nor do directories in a repository", try: "rename {g}/plain/.git/worktrees/tree {g}/plain/.git/worktrees/t", namespaces: "EBUSY"},
		{says: "E12 a file beside is renamed", try: "rename {g}/plain/file {g}/plain/renamed", namespaces: "ok"},
	}
	t.Parallel()
	everywhere(t, habitat{tiers: []string{kit.Namespaces}, furnish: func(t *testing.T, w *world) {
		for n := range rows {
			repositories(t, w, n)
		}
	}}, func(t *testing.T, w *world) {
		for n, row := range rows {
			words := map[string]string{"g": w.path("ws", "g"+strconv.Itoa(n)), "o": w.path("out", "g"+strconv.Itoa(n))}
			t.Run(row.says, func(t *testing.T) { row.in(t, w, n, words) })
		}
	})
}

// TestEscapeE11ARepositoryThatACommandMakesIsPinnedForTheNext: a command may
// set anything in a repository that it makes itself. Later commands find it
// pinned, even if commands run all the time.
func TestEscapeE11ARepositoryThatACommandMakesIsPinnedForTheNext(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy: %t", busy), func(t *testing.T) {
			everywhere(t, habitat{tiers: []string{kit.Namespaces}}, func(t *testing.T, w *world) { w.pinsNew(t, busy) })
		})
	}
}

func (w *world) pinsNew(t *testing.T, busy bool) {
	t.Helper()
	s := w.On(t)
	if busy {
		answer, goOn := w.waiting(t, "true")
		defer func() { goOn(); <-answer }()
	}
	s.Command("git init -q new").Ran()
	const plant = "echo gotcha > new/.git/hooks/pre-commit"
	refused := func() bool { return s.Process("sh", []string{"-c", plant}).YAML().ExitCode != 0 }
	if w.tier == kit.None {
		if refused() {
			t.Error("the control cannot write a hook")
		}
		return
	}
	kit.Eventually(t, "commands do not write hooks of a repository that a command has made any more", refused)
}
