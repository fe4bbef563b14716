// Package natsx is how tipstaff speaks to NATS, the engine of many machines: a
// connection with the options that keep its promises, the subjects, the
// statements that gateways sign, the leases of runners, the streams of copies.
// It alone knows the NATS libraries.
//
// It carries messages and decides nothing: who may run what is policy's affair,
// where a session is placed is internal/fleet's, what a call is and how often it
// may be sent internal/fleet/rpc's.
//
// What it promises, each against a way in which NATS surprises:
//
//   - Nothing is sent later. While the connection is away, sending fails with
//     [ErrUnavailable]; the library would keep 8 MB and send them when the
//     caller has long been told that nothing was sent.
//   - A peer that is silent is noticed in 4 seconds, not in 4 minutes.
//   - A connection is tried again for ever, with growing pauses, and each attempt
//     is logged with its address and its reason ([Conn.State] has the last one).
//   - No answer goes to a reply subject of the asker's choice. A runner answers on
//     subjects that carry its own name, [Address.Answers], so the server's
//     permissions hold it to that name; "allow_responses" is never given.
//   - What JetStream sends is no member's word. It answers to any subject that a
//     member names, with no look at permissions; so each member has an account of its
//     own, which its answers do not leave ([ServerConfig.Accounts]), and nobody makes
//     consumers.
//   - What is not signed by the member whose it should be counts for nothing: a lease, a
//     claim, a batch, an answer ([Conn.Foreign] counts what is passed over).
//
// Read next: subject.go, conn.go, statement.go, signed.go, lease.go, stream.go, account.go.
package natsx
