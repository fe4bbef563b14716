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
// everything below, so [Paths.Allow] lists what lies beside the hidden paths. Use
// both if both exist: a mount that covers or pins a file is gone when a process
// outside replaces the file.
//
// The package changes nothing on disk, except in [Paths.Make]. It reads no
// environment variables; the facts about the machine are arguments.
//
// What it cannot promise: secrets that no table lists; other names of a hidden file
// (hard links); a repository that a command makes itself and fills with hooks, until
// the next Resolve finds it; hooks that do not lie where git's own configuration
// says.
//
// Read next: builtin/secrets.txt, paths.go, resolve.go, repository.go, allow.go.
package profile
