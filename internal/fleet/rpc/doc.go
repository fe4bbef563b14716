// Package rpc carries calls of tools from gateways to runners, over messages
// that may be lost.
//
// A [Gateway] and what it leads to are [Carrier]s: a call that goes through a
// gateway, a link and a [Runner] to a carrier on another machine ends as it would
// have ended there, or says honestly that this is not known. Each call is carried
// out at most once; no message that starts one is sent a second time when the first
// may have arrived, and none counts when it arrives late.
//
// The package knows neither tools nor policy nor NATS: where messages go is for a
// [Link] to know, where runners are for a [Fleet], who may send for a [Signer] and
// a [Verifier]. It keeps nothing on a disk.
//
// Read next: call.go, wire.go, gateway.go, pending_call.go, runner.go, stream.go.
package rpc
