// Package traces makes a span for each tool call that asks for a command and
// sends it to a collector, by OTLP over HTTP, if the operator has named one in
// the variables that OpenTelemetry has for it.
//
// [Traces.Road] stands before the road and makes the span; [Traces.Runner] stands
// at its end and adds what is known only there. Both add to the trace that the
// caller said its call belongs to, and the command is told of the span. A span
// holds names, codes and figures of ours, and the name of a program that was
// allowed: no arguments, no output, no directory, nothing of what was refused.
//
// Sending happens behind the calls. A collector that is slow or gone loses spans
// and delays nobody, but for the second that [Traces.Close] may wait.
//
// Read next: road.go.
package traces
