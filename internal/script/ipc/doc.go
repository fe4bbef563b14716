// Package ipc is what the server and a script process say to each other:
// messages with descriptors, over one socket.
//
// The script process is the one that interprets a script of execute_shell
// (internal/script/worker). It can start nothing; it asks the server
// (internal/script) for each simple command. Neither side trusts the other to
// send what makes sense, and the server does not trust the script process at
// all: what a message asks for is judged like what a caller asks for.
package ipc
