// Package trailread reads trails for people and programs: it finds them, goes
// over their records in order of time, filters, counts and exports them. It
// changes nothing, and it believes what it reads; whether a trail was tampered
// with is for audit.Verify to say.
//
// # What is read
//
// [Find] looks once. What a running server appends later is not part of what
// was found, so that everything that is read belongs to one moment; [Follower]
// reads what comes after it.
//
// A line counts as a record when it is a JSON object with seq, time and event.
// Every other line is counted in [Faults] and passed over: a bad line never
// hides a good one. A line without an end, last in its file, is torn; a server
// that is still writing it may be the reason.
//
// # Speed
//
// Trails are streamed: memory does not grow with them. A line that cannot match
// is found out by a search for bytes, without being decoded (see prefilter.go;
// it never passes over a line that would match). Bounds of time are found by
// bisection, which goes by the promise of package audit that times never go
// back in a trail. In a trail that breaks it (audit.Verify sees that it was
// tampered with) records outside of their order may be missed by bounds of
// time, and by nothing else.
//
// Read next: find.go, filter.go for what can be asked, read.go for the order.
package trailread
