// Package kit is what the tests of the built binary share: it builds tipstaff
// once, starts servers and speaks to them as a client does, over the protocol's
// own library or line by line, and finds out which processes live. It promises
// nothing about tipstaff itself; that is what the tests are for.
package kit
