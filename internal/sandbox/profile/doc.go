// Package profile says which files a confined command may read and write.
//
// [Profile.Resolve] inspects the machine as it is now and returns [Paths]: what is
// writable (the workspace, the tools' caches, the repository that a work tree
// belongs to), what is hidden (keys, tokens, histories, tipstaff's own files), and
// what stays as it is although something writable contains it (hooks and
// configuration of git, start-up files, programs, the settings of agents).
// Everything else is readable. The paths are data: builtin/*.txt, each with a
// reason, which doctor prints.
//
// Two mechanisms enforce the result, and neither is here. Mounts take Paths as they
// are: what is writable is bound, pins are bound on themselves, what is hidden is
// covered. Landlock can only allow, and what it allows for a directory holds for
// everything below, so [Paths.Allow] lists what is beside the hidden paths. Use
// both if both exist: the kernel drops a mount on a file when a process outside
// replaces the file.
//
// The package changes nothing on disk, except in [Paths.Make]. It reads no
// environment variables; the facts about the machine are arguments.
//
// It does not protect
//
//   - secrets that no table lists,
//   - a hidden file under another name (a hard link),
//   - a person from a repository that a command makes and fills with hooks, until the
//     next Resolve finds it,
//   - hooks outside of the directory that git's own configuration names.
//
// Read next: builtin/secrets.txt, paths.go, resolve.go, repository.go, allow.go.
package profile
