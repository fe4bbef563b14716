// Package authn authenticates callers and says what each may do: the
// principal that owns sessions, approvals and outputs (contract B8), and the
// scopes that the tools require.
//
// It judges credentials, never commands: a principal with every scope still
// runs only what the policy allows. It does not listen; its only network
// requests fetch the keys of the issuer that the operator has named.
//
// There is no anonymous caller. [New] requires at least one method. A request
// without a credential is refused, and so is one with a wrong credential, even
// if it carries a second one that is good.
//
// Read next: gate.go for how a method is chosen, then the methods themselves:
// static.go and tokenfile.go (tokens), jwt.go and keys.go (OAuth 2.1),
// certificate.go (mutual TLS).
package authn
