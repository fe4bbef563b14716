// Package sink sends records to other places: standard error, the journal,
// syslog, an OpenTelemetry collector, a webhook. It also sends signed
// checkpoints, because they make a remote copy valid against the owner of this
// machine.
//
// The trail in files remains the authority. A sink receives what is on the
// trail already, with secrets redacted. No command waits for a sink, and the
// server's end waits two seconds for all of them together. What a sink could
// not deliver is counted and logged, and reported to the sink itself in its
// position, as an event "sink.lost", when it accepts messages again.
//
// Each sink has a pump: a queue on the bus, a goroutine, batches, retries with
// growing pauses. So a [Sink] only has to send a batch to a peer and to report
// how much of it the peer has received.
//
// Delivery is at least once: exactly once while all goes well. If the answer to
// a batch is lost, the batch is sent again; the numbers of the records and the
// name of the trail identify duplicates. Two transports cannot detect every
// loss: UDP, and plain TCP for data in transit when the connection breaks. See
// docs/sinks.md.
//
// Read next: message.go, pump.go, set.go; then one file for each sink.
package sink
