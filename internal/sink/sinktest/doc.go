// Package sinktest judges sinks: one suite, which every sink has to pass against
// a real peer that behaves well, hangs, is slow, answers nonsense, or dies and
// comes back.
package sinktest
