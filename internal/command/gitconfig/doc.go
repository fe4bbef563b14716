// Package gitconfig parses git configurations as git does, and judges which
// changes a confined command may make in one. It works on texts and opens no
// file.
//
// Git runs programs that its configuration names: hooks, filters, editors,
// remote helpers, and more. A command that may write the configuration of a
// repository could make a person's git run any program. But honest commands
// write it too: git remote add, git push -u, git submodule add. So a
// [Repository] judges the difference between the accepted text and the proposed
// one, entry by entry:
//
//   - Entries that keys.txt lists may come, go and change, with the values
//     listed there.
//   - All other entries must stay as they are, in their order. A person's own
//     alias stays; a command can neither add nor remove one.
//   - A listed value may not change what a kept entry means.
//
// The package refuses what it does not understand, because a text that it
// parses differently from git would not protect. It follows no include and
// resolves no symbolic link; [SettingsOf] returns the settings that lead to
// other files.
//
// It does not judge what is at an address. A push to a directory of the
// workspace runs the hooks of the repository there; preventing that is the task
// of that repository's guard.
//
// Read next: parse.go (the syntax), keys.txt (the keys, with a reason each),
// values.go and address.go (their values), judge.go (the difference), todo.go
// (one more file that contains commands).
package gitconfig
