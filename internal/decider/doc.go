// Package decider asks a service of the operator's about each command that the
// policy does not refuse, in the shape of Open Policy Agent: a POST of
// {"input": …} over HTTP, HTTPS or a unix socket, answered by {"result": …}.
//
// It fails closed: no answer in time, or one that is not understood, denies. It
// sends neither values of variables nor the secrets in arguments, follows no
// redirects, uses no proxies and believes nothing that could widen: an answer
// becomes a [policy.Finding], which can only narrow a decision.
//
// Read next: client.go for the exchange, input.go for what is sent, answer.go
// for what is understood.
package decider
