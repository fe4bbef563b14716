// Package worker is the script process: it interprets one script of
// execute_shell, and asks the server for each command of it.
//
// The server starts its own binary as this process, confined like a command of
// the session sandbox. It forbids itself every program before it reads a word, says
// [ipc.Ready], gets its [ipc.Script], and ends with it: after
// [ipc.Done] it stays only as long as jobs of the script run, or until the
// server closes the socket. What it can do is what its sandbox lets any command
// do with files; which programs start, the server decides.
//
// Read next: early.go, where it begins, main_linux.go, ask_linux.go, internal/script/interp for the language, internal/script for
// the other end.
package worker
