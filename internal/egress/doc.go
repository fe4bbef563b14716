// Package egress lets programs without a network reach the hosts that the
// operator has listed, and no others.
//
// A command runs in a network namespace of its own, in which nothing leads
// outside. The server holds a listening socket there and serves this proxy on
// it; the program finds it through HTTP_PROXY and HTTPS_PROXY, with a token of
// its session in the address. [ParseHosts] reads the list; a [Proxy] serves any
// number of listeners with it, each with its own token.
//
// One road leads out, [Proxy.reach], for both ways of asking, CONNECT and plain
// HTTP: the host must be listed, its name is resolved once, every address is
// judged, and those that were judged good are dialled, so that no second answer
// of the name server can change the matter. Addresses that lead back to this
// machine, into its private networks or to the metadata of a cloud have to be
// listed themselves, however public the name is that leads there.
//
// It refuses what two readers could read differently: a Host that is not the
// host of the URL, two lengths for one body, a TLS name that is not the host
// asked for. A connection carries one request, on both sides of the proxy, so
// nothing is left over that could pass for a second one. Plain requests cannot
// change their protocol; WebSockets go through CONNECT.
//
// A refusal is an answer with a sentence that teaches and the header
// X-Tipstaff-Refused: host, port, address (403), token (407), request (400),
// upgrade (501). A wrong TLS name, found after the 200, is answered in TLS.
//
// Of a tunnel it reads the first ClientHello and nothing more. A listed host
// that hands on what it is sent (to the name in a Host field, in an encrypted
// ClientHello, in a public form) is a way out, and so is a listed domain of
// which somebody reads the name server's log. List few hosts.
//
// Read next: hosts.go, then reach.go, serve.go, tunnel.go.
package egress
