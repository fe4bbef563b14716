// Package hook answers a client that asks before its own shell runs a line,
// and takes down what the client says has come of it: the hooks of Claude Code.
//
// The policy that decides is the server's, and so is the trail. Nothing runs
// here, nothing is confined here, and no command of the line is judged again when
// the client's shell comes to it. So only a line of which everything is known
// before is allowed; the rest is left to the person at the client, where the
// client has one, and otherwise denied. Whatever goes wrong is denied, too.
//
// Read next: hook.go (what is asked and answered), narrow.go (what the machine
// adds to the policy's decision).
package hook
