// Package audit writes the trail: what was asked, what was decided, how it
// ended, one JSON object per line. It also checks trails that were written.
//
// Each running server writes a trail of its own, a directory of segments
// (000001.jsonl, …, each of 64 MiB), because clients start several servers side by side; nothing
// is locked or shared between them. [Trail.Append] returns when the kernel has
// the record, so it survives the death of the server; within 100 ms it is on
// the disk, or with [Strict] before a command starts. What cannot be recorded must not run: callers append the intent
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
// The chain goes on from one file to the next.
//
// # Checkpoints
//
// Who may write the file may write another chain. So the server signs what it
// has written: a [Checkpoint] says how many records there are and gives the root
// of the Merkle tree over their lines (RFC 6962), in the format of C2SP's
// tlog-checkpoint. They stand in a file beside the records, and speak only of
// what is on the disk. Whoever changes, adds, moves or removes something that a
// checkpoint covers needs the key. [Prove] shows one record to someone who has
// nothing but the public key.
//
// The owner of the machine has the key. Against him, and against a trail that was
// put back to an earlier state with its checkpoints, only a checkpoint helps that
// was kept elsewhere ([Options].OnCheckpoint, [VerifyOptions].Since).
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
// Read next: record.go for the fields, trail.go and durable.go for writing,
// checkpoint.go and marks.go for signing, verify.go and witness.go for checking.
package audit
