// Package tty writes for people at a terminal: text that fits and is coloured, JSON,
// counts and sizes. What it prints of commands has to be printable already.
package tty
