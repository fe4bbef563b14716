// Package audit writes the trail: what was asked, what was decided, how it
// ended, one JSON object per line. It also checks trails that were written.
//
// Each running server writes a trail of its own, a directory of segments
// (000001.jsonl), because clients start several servers side by side; nothing
// is locked or shared between them. [Trail.Append] returns when the kernel has
// the record, so it survives the death of the server; within 100 ms it is on
// the disk. What cannot be recorded must not run: callers append the intent
// before they start anything.
//
// # The chain
//
// Every line ends with ,"prev":"…","hash":"…"}. hash is the SHA-256, in
// hexadecimal, of the line without its newline and without its hash member,
// that is of {…,"prev":"…"}. prev is the hash of the line before; it is 64
// zeros on the first line. seq counts from 1 without gaps. No tipstaff is
// needed to check it; the first command below prints the hashes as they ought
// to be, the second as they are written:
//
//	sed -E 's/,"hash":"[0-9a-f]{64}"}$/}/' 000001.jsonl | while IFS= read -r line; do printf %s "$line" | sha256sum | cut -c1-64; done
//	jq -r .hash 000001.jsonl
//
// and each record's prev is the hash before it:
//
//	diff <(jq -r .prev 000001.jsonl | tail -n +2) <(jq -r .hash 000001.jsonl | head -n -1)
//
// # What the chain does not show
//
// Who may write the file may write another chain. Lines that were cut off
// exactly at a line end, a trail that was removed, and a trail that was
// rewritten from some line to its end cannot be seen without a checkpoint that
// was kept elsewhere. What is altered, removed, inserted or moved before a
// line that stays is always seen.
//
// # What is hidden
//
// Secrets in arguments are replaced by <redacted:rule> (see internal/redact),
// and of the environment there are only names. Whatever does not print
// (control characters, direction marks, invisible characters) is escaped as
// \uXXXX, so that a line shown on a terminal is what it seems. A line is at
// most [MaxLine] bytes; what was cut is marked …[+N bytes], and argv_sha256
// covers the arguments as they were: SHA-256 of all arguments joined by NUL.
//
// Read next: record.go for the fields, trail.go for writing, verify.go for
// checking.
package audit
