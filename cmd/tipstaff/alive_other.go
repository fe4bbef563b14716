//go:build !unix

package main

// alive cannot ask here; nothing is claimed.
func alive([]string) int { return 0 }
