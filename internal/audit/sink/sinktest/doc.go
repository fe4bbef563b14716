// Package sinktest is a test suite for sinks. Every sink has to pass it, with a
// real peer that behaves well, hangs, is slow, answers nonsense, or ends and
// restarts.
package sinktest
