// Package idempotency carries out each call at most once, by the id that its caller has
// given it.
//
// A [Book] has one [Entry] for each id of an owner. A call that brings an id which
// the book has joins the first call and gets its answer, while that goes on and for
// a while after its end. A call of which nothing was started is forgotten, so that
// it can be made again under its id.
//
// The package starts nothing by itself and keeps nothing on a disk: a server that
// ends forgets its ids, and what it was carrying out ends with it.
package idempotency
