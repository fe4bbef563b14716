// Package contain shows with the built binary, in both tiers, as root and as an
// ordinary user, that the sandbox does its work: developers' tools work in it,
// and a corpus of calls and arguments by which commands have escaped from other
// servers has no effect. testdata/tools has the projects, testdata/rows.jsonl
// the calls, testdata/forms.jsonl the arguments.
//
// The tests do not run under the race detector: it would only cover the client
// of the protocol, which is the same in every test. Package e2e runs the server
// under it.
package contain
