// Package own knows tipstaff's own files: the policy, allowlists, tokens, keys,
// certificates, records. No command may change them or learn their secrets.
//
// A [Keeper] follows the path of each file once at the start, through all
// symbolic links, and holds what it finds. It answers two questions:
//
//   - What has to be kept from commands, and where is it now? The sandbox asks
//     before it confines commands ([Keeper.Places]). A path that a command made
//     unreadable or let lead elsewhere does not change the answer.
//   - May a file that has changed be read again? Those ask that follow a file
//     while the server runs ([Keeper.May]). The answer is no where a command may
//     have made the change: in a directory that commands may write, through a
//     link in one, or by another name of the file (a hard link). Such a file is
//     read at the start and when a person says so ([Keeper.Settle]).
//
// What commands may write is told to the Keeper before any command runs there
// ([Keeper.Opened]), and stays so until the server ends: a directory that is no
// longer writable may hold what was written before.
//
// The package reads no file and changes none. It knows nothing of sandboxes.
//
// Read next: keeper.go, may.go, way.go, risk.go.
package own
