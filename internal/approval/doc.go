// Package approval keeps the questions that a policy leaves to people, until
// they are answered, used, or too old.
//
// A [Store] holds each question under a handle of 128 random bits. An answer
// counts for exactly what was asked (the question's digest), for the principal
// who asked, once, and for a limited time; a person may extend it to the same
// command for the rest of the session. Whatever is not answered is refused:
// after the wait, when nobody can be asked, when there are too many questions,
// and when a command is too long to be shown whole.
//
// A [Sealer] closes what a client of the stateless protocol carries from the
// question to the answer, so that it can neither read nor change it.
//
// The package asks nobody and runs nothing: the fronts ask, internal/control
// lets people of the host answer, internal/monitor waits.
//
// Read next: store.go, answer.go, show.go.
package approval
