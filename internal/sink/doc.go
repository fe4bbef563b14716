// Package sink carries records off the host: to standard error, the journal,
// syslog, an OpenTelemetry collector, a webhook. Signed checkpoints go with
// them, for that is what makes a copy elsewhere count against the owner of this
// machine.
//
// The trail in files stays the authority. A sink sees what was written there
// already, redacted; nothing waits for a sink, and the end of the server waits
// two seconds for all of them together. What a sink could not deliver is
// counted, logged, and told to the sink itself in its place, as an event
// "sink.lost", when it takes messages again.
//
// Each sink has a pump of its own: a queue on the bus, a goroutine, batches,
// retries with growing pauses. A sink is then no more than [Sink]: it sends a
// batch to a peer, and says how much of it the peer has.
//
// Delivery is at least once: exactly once while all goes well; when the answer
// to a batch was lost, the batch is sent again, and the numbers of the records
// and the name of the trail show what came twice. Two sinks cannot know whether
// they have been heard (UDP, and plain TCP for what is on its way when the
// connection dies); docs/sinks.md says so.
//
// Read next: message.go, pump.go, set.go; then one file for each sink.
package sink
