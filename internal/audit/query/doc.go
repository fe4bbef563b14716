// Package query reads trails for people and programs: it finds them, and
// reads their records in order of time, filters, counts and exports them. It
// changes nothing, and it does not check whether a trail was tampered with; use
// audit.Verify for that.
//
// # What is read
//
// [Find] takes a snapshot: it does not include what a running server appends
// later, so everything that is read belongs to one moment. [Follower] reads
// what comes after it.
//
// A line counts as a record if it is a JSON object with seq, time and event.
// Every other line is counted in [Faults] and skipped: a bad line never hides a
// good one. The last line of a file counts as torn if it has no end; possibly a
// server is still writing it.
//
// # Speed
//
// Trails are streamed: memory use does not grow with them. Most lines that
// cannot match are recognized by a search for bytes, without being decoded (see
// prefilter.go; it never rejects a line that would match). Bounds of time are
// found by bisection, which relies on the guarantee of package audit that times
// never decrease within a trail. If a trail violates that (audit.Verify reports
// it as tampered with), a query with bounds of time may miss records that are
// out of order; other queries miss none.
//
// Read next: find.go, filter.go for the possible queries, read.go for the
// order.
package query
