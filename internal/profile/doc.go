// Package profile says which files a confined command may read and write.
//
// [Profile.Resolve] looks at the machine as it stands and answers with [Paths]:
// what is writable (the workspace, the tools' caches, the repository that a
// work tree belongs to), what is hidden (keys, tokens, histories, tipstaff's
// own files), and what stays as it is although something writable is around it
// (hooks and configuration of git, start-up files, programs, the settings of
// agents). Everything else is readable. Which paths those are is data:
// builtin/*.txt, with a reason for each, which doctor prints.
//
// Two mechanisms carry it out, and neither is here. Mounts take Paths as they
// stand: what is writable is bound, pins are bound on themselves, what is
// hidden is covered. Landlock can only allow, and what it allows for a
// directory holds for all below, so [Paths.Allow] lists what lies beside the
// hidden paths. Both are to be used together where both exist: a mount that
// covers or pins a file is gone when somebody outside replaces the file.
//
// The package changes nothing on disk, except in [Paths.Make]. It reads no
// environment; the machine's facts are arguments.
//
// What it cannot promise: secrets at places that no table knows; other names
// of a hidden file (hard links); a repository that a command makes itself and
// fills with hooks, which is found by the next Resolve; hooks that do not lie
// where git's own configuration says.
//
// Read next: builtin/secrets.txt, paths.go, resolve.go, repository.go, allow.go.
package profile
