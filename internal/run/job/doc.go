// Package job keeps the commands that run, and for a while those that have ended,
// by their ids: whose they are, what can be done with them, how they ended.
//
// A command in the background is the same call of the execution path as any other, on a
// goroutine whose life is the command's and not that of the request. It ends with
// its session, with its connection over stdio, when its principal has been idle
// for long, and with the server. Commands whose calls wait for them are only noted,
// so that their owner can read what an answer left out.
//
// An id is worth something to the owner of the command alone; for anybody else the
// error is the same as for an id that never was. The package runs nothing, decides
// nothing and keeps no output: internal/monitor runs, internal/output/spool keeps.
//
// Waiting costs nothing while nothing happens: what waits is woken by the output or
// by the end of the command. Only a wait for a TCP port looks from time to time,
// because the kernel tells nobody when a program begins to listen (wait.go).
//
// Read next: store.go, job.go, wait.go.
package job
