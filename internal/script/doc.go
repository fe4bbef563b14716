// Package script runs scripts of execute_shell.
//
// A script is interpreted by a process of its own, the script process
// (internal/script/worker): tipstaff's own program, confined like the commands of its
// session sandbox, which can start nothing. It asks for each simple command with the words that
// the command really gets. The package puts each of them on the one execution path
// ([Monitor.Execute]), with the descriptors that came along, and tells the script
// process how it ended. It decides nothing itself and starts nothing but script
// processes.
//
// A script process is not trusted: it holds what the script says, and programs of its
// session sandbox may have got at it. It can only ask. What does not keep to the rules of
// [tipstaff/internal/script/ipc] ends the script, and harms nothing else. No request
// starts anything once the script has ended, whatever ended it, and the result is
// returned when every command has ended.
//
// Read next: scripts.go, then run.go and command.go.
package script
