// Package gitconfig reads configurations of git as git reads them, and judges
// what a confined command may change in one. It is pure: it gets texts, and
// opens no file.
//
// git runs programs that its configuration names: hooks, filters, editors,
// helpers of remotes, and more. A command that may write the configuration of a
// repository could have a person's git run anything. But honest commands write
// it too: git remote add, git push -u, git submodule add. So a [Repository]
// judges the difference between the text that was accepted and the one that is
// proposed, entry by entry:
//
//   - What keys.txt lists may come, go and change, with the values listed there.
//   - Every other entry has to stay as it is, in its order. A person's own
//     alias stays; a command can neither add nor remove one.
//   - A listed value may not change what a kept entry means.
//
// The package refuses what it does not understand: a text that it reads
// otherwise than git would be no protection. It follows no include and resolves
// no symbolic link; [SettingsOf] gives the caller what leads to other files.
//
// What an address leads to is not judged. A push to a directory of the
// workspace runs the hooks of the repository there, which is for the guard of
// that repository to prevent.
//
// Read next: parse.go (the syntax), keys.txt (the keys, with a reason each),
// values.go and address.go (their values), judge.go (the difference), todo.go
// (one more file with commands in it).
package gitconfig
