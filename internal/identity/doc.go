// Package identity says who a caller is and what that caller may do: the
// principal to whom sessions, approvals and outputs belong (contract B8), and
// the scopes that the tools ask for.
//
// It judges credentials, never commands: a principal with every scope still
// runs only what the policy allows. It listens nowhere; the one thing it asks
// of the network is the keys of the issuer that the operator has named.
//
// There is no anonymous caller. [New] refuses to be without a method, a request
// without a credential is refused, and one that carries a wrong credential is
// not rescued by another that it carries too.
//
// Read next: gate.go for how a method is chosen, then the methods themselves:
// static.go and tokenfile.go (tokens), jwt.go and keys.go (OAuth 2.1),
// certificate.go (mutual TLS).
package identity
