//go:build !unix

package main

import "errors"

// These programs concern Unix processes and do not exist on this system.

var errNotHere = errors.New("this program exists on Unix only")

func printDirectory([]string) error   { return errNotHere }
func printDescriptors([]string) error { return errNotHere }
func printSignals([]string) error     { return errNotHere }
func printOnTerm([]string) error      { return errNotHere }
func dieBySignal([]string) error      { return errNotHere }
func becomeDeaf([]string) error       { return errNotHere }
func hold([]string) error             { return errNotHere }
func daemon([]string) error           { return errNotHere }
func daemonParent([]string) error     { return errNotHere }
func daemonChild([]string) error      { return errNotHere }
func tree([]string) error             { return errNotHere }
