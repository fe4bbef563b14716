// Package config turns the environment into typed settings. No other package
// reads the environment, and no other package knows the names of its variables.
//
// A value that cannot be understood is an error, never a default: the operator
// who wrote it meant something by it.
package config
