// Package protected keeps track of tipstaff's own files: the policy, allowlists,
// tokens, keys, certificates, records. No command may change them or learn
// their secrets.
//
// A [Registry] follows the path of each file once at the start, through all
// symbolic links, and keeps a handle on what it finds. It answers two
// questions:
//
//   - What has to be kept from commands, and where is it now? The sandbox
//     asks before it confines commands ([Registry.Locations]). The answer does
//     not change if a command makes a path unreadable or lets it lead
//     elsewhere.
//   - May a file that has changed be read again? Code that follows a file
//     while the server runs asks that ([Registry.MayReread]). The answer is no if a
//     command may have made the change: in a directory that commands may
//     write, through a link in one, or by another name of the file (a hard
//     link). Such a file is read only at the start and when a person asks
//     for it ([Registry.Accept]).
//
// The Registry is told which directories commands may write before any command
// runs there ([Registry.AddWritable]). They count until the server ends, because a
// directory that is no longer writable may still contain what was written
// before.
//
// The package does not read or change the files. It does not depend on the
// sandbox.
//
// Read next: registry.go, reread.go, resolve.go, risk.go.
package protected
