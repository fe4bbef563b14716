// Package config turns the environment into typed settings. Nothing else reads
// the environment, and nothing else knows the names of its variables.
//
// A value that cannot be understood is an error, never a default: an operator
// who wrote it meant something.
package config
