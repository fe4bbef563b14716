// Package approval keeps the questions that a policy leaves to people, until
// they are answered, used, or expired.
//
// A [Store] holds each question under a handle of 128 random bits. An answer
// counts for exactly what was asked (the question's digest), for the principal
// who asked, once, and for a limited time; a person may extend it to the same
// command for the rest of the session. A question without an answer is refused:
// when its time is up, when there is no person to ask, when too many questions
// are open, and when a command is too long to be shown whole.
//
// A [Sealer] encrypts the state that a client of the stateless protocol carries
// from the question to the answer, so that the client can neither read nor
// change it.
//
// The package itself asks nobody and runs nothing: the fronts ask,
// internal/admin/api lets people on the host answer, and internal/monitor waits.
//
// Read next: store.go, answer.go, show.go.
package approval
