// Package kit is shared by the tests of the built binary: it builds tipstaff
// once, starts servers, speaks to them as a client does, with the protocol's
// own library or line by line, and finds running processes. It promises nothing
// about tipstaff itself; that is what the tests are for.
package kit
