// Package doctor examines a machine and its settings before any command depends
// on them: could a server decide, record, confine and end commands here, and
// what is weaker than it could be?
//
// Each part of a server has an examination ([ExaminePolicy], [ExamineRecord],
// [ExamineDecider]) or a status of its own that becomes part of a [Diagnosis].
// A Diagnosis is for programs, as JSON; [Diagnosis.Findings] has the same for
// people, with what to do about each fault; [Diagnosis.Refuses] reports whether
// a server would run no commands.
//
// The package changes nothing: it makes no trail, no key and no sandbox, starts
// no process and prints nothing. Sinks and deciders are contacted for a bounded
// time; sinks get no record.
//
// Read next: diagnosis.go, then policy.go.
package doctor
