// Package contain shows what people want of a sandbox, by the built binary, in
// both tiers, as root and as an ordinary user: that the tools of developers work
// in it, and that a corpus of calls and forms of arguments, by which commands
// have got out of other servers, comes to nothing. testdata/tools has the
// projects, testdata/rows.jsonl the calls, testdata/forms.jsonl the forms.
//
// The tests do not run under the race detector: it would see the client of the
// protocol alone, which is the same in every test. Package e2e runs the server
// under it.
package contain
