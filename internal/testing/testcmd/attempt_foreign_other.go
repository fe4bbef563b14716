//go:build linux && !amd64

package main

func foreignTries() []try { return nil }
