// Package decider asks a service of the operator about each command that the
// policy does not refuse, in the form of Open Policy Agent: a POST of {"input":
// …} over HTTP, HTTPS or a Unix socket, answered by {"result": …}.
//
// It fails closed: without an answer in time, or with one that is not
// understood, the command is denied. It sends neither values of variables nor
// the secrets in arguments, follows no redirects and uses no proxies. No answer
// can allow more than the policy does: an answer becomes a [policy.Finding],
// which can only narrow a decision.
//
// Read next: client.go for the exchange, input.go for what is sent, answer.go
// for what is understood.
package decider
