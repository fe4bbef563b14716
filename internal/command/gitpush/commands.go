package gitpush

import (
	"slices"
	"strings"
)

// ownPushing are git's own commands that push, with the words behind them that
// make them do so; without words, they always push.
var ownPushing = map[string][]string{
	"push": nil, "send-pack": nil, "http-push": nil, "cvsexportcommit": nil,
	"remote-http": nil, "remote-https": nil, "remote-ftp": nil, "remote-ftps": nil, "remote-ext": nil, "remote-fd": nil,
	"svn": {"dcommit", "set-tree", "commit-diff", "branch", "tag"}, "p4": {"submit"}, "subtree": {"push", "--push"},
}

// others are commands of others that git's table knows, with the words behind
// them that only look, or change only this repository; "*": all do.
var others = map[string][]string{
	"absorb": {"*"}, "crypt": {"*"}, "filter-repo": {"*"}, "ignore-io": {"*"}, "open": {"*"}, "repo": nil, "secret": {"*"}, "standup": {"*"},
	"annex":      {"add", "drop", "dropunused", "find", "findref", "fsck", "get", "help", "info", "init", "list", "lock", "log", "metadata", "status", "unannex", "unlock", "unused", "version", "view", "whereis"},
	"branchless": {"help", "hide", "init", "next", "prev", "query", "record", "restack", "reword", "smartlog", "switch", "undo", "unhide"},
	"flow":       {"config", "help", "init", "log", "start", "version"},
	"lfs": {
		"checkout", "clean", "dedup", "env", "ext", "fetch", "filter-process", "fsck", "help", "install", "locks", "logs", "ls-files", "migrate", "pointer",
		"post-checkout", "post-commit", "post-merge", "prune", "pull", "smudge", "status", "track", "uninstall", "untrack", "update", "version",
	},
	"machete": {"add", "anno", "diff", "discover", "file", "go", "help", "is-managed", "list", "log", "show", "squash", "status", "version"},
	"spice":   {"auth", "down", "help", "log", "ls", "trunk", "up", "version"},
	"stage":   {"*"}, // the same as add
	"town":    {"branch", "config", "help", "offline", "switch", "version"},
}

// publishing are words of commands of others that send something.
var publishing = []string{"push", "publish", "sync", "submit", "upload", "ship", "land", "finish", "propose", "review", "mirror", "deploy", "release", "dcommit", "traverse"}

// pushes reports whether the command pushes. A command that is not git's own may
// push, unless it is known not to; then alias reports whether it could also be
// an alias, which is judged as what it stands for.
func (c *command) pushes(own func(sub string) bool) (is, alias bool) {
	words, pushing := ownPushing[c.sub]
	switch {
	case pushing:
		return len(words) == 0 || slices.ContainsFunc(c.rest, func(w string) bool { return c.means(w, words) }), false
	case c.unknown && slices.ContainsFunc(c.rest, func(w string) bool { _, pushes := ownPushing[w]; return pushes }):
		return true, false // the subcommand may be the value of an option that is not known
	case c.sub == "":
		return false, false
	}
	local, known := others[c.sub]
	switch {
	case known && slices.Contains(local, "*"):
		return false, false
	case known:
		at := slices.IndexFunc(c.rest, func(w string) bool { return !strings.HasPrefix(w, "-") })
		first := at < 0 || slices.Contains(local, c.rest[at])
		return !first && (at+1 == len(c.rest) || !slices.Contains(local, c.rest[at+1])), false
	case own(c.sub):
		return false, false
	}
	return true, true
}

// means reports whether a word is one of some, of which options may be
// abbreviated.
func (c *command) means(word string, some []string) bool {
	return slices.ContainsFunc(some, func(s string) bool {
		return word == s || len(word) > 3 && strings.HasPrefix(s, "--") && strings.HasPrefix(s, word)
	})
}

// forces reports whether a push that is not understood may do what --force does:
// the arguments say so, or it is a command of others that sends something.
func (c *command) forces() bool {
	plain := slices.Contains([]string{"push", "send-pack", "http-push", "subtree"}, c.sub)
	return slices.ContainsFunc(append([]string{c.sub}, c.rest...), func(w string) bool {
		return strings.HasPrefix(w, "+") || strings.HasPrefix(w, "--f") || w == "-f" || !plain && slices.Contains(publishing, w)
	})
}
