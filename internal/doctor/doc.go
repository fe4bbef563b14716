// Package doctor finds out what a machine and its settings come to, before any
// command depends on it: could a server decide, record, confine and end commands
// here, and what is weaker than it could be?
//
// Each part of a server has an examination ([ExaminePolicy], [ExamineRecord],
// [ExamineDecider]) or a status of its own that a [Diagnosis] takes in. A Diagnosis
// is for programs, as JSON; [Diagnosis.Findings] is the same for people, with what
// to do about each fault; [Diagnosis.Refuses] says whether a server would run
// anything.
//
// The package looks and changes nothing: it makes no trail, no key and no
// sandbox, starts no process and prints nothing. Peers (sinks, a decider) are
// reached for a bounded time and get no record.
//
// Read next: diagnosis.go, then policy.go.
package doctor
