// Package audit has the commands that read, verify, archive and prune trails.
package audit
