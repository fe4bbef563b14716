// Package flags has the flags that several commands share, and reads settings as they
// say.
package flags
