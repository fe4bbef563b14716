//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func printOnTerm([]string) error {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	fmt.Println("ready")
	<-term
	fmt.Println("terminated")
	os.Exit(7)
	return nil
}

// signalNumber knows the signals that end a program.
func signalNumber(name string) (syscall.Signal, bool) {
	n, ok := map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "ILL": syscall.SIGILL,
		"TRAP": syscall.SIGTRAP, "ABRT": syscall.SIGABRT, "BUS": syscall.SIGBUS, "FPE": syscall.SIGFPE,
		"KILL": syscall.SIGKILL, "USR1": syscall.SIGUSR1, "SEGV": syscall.SIGSEGV, "USR2": syscall.SIGUSR2,
		"PIPE": syscall.SIGPIPE, "ALRM": syscall.SIGALRM, "TERM": syscall.SIGTERM, "XCPU": syscall.SIGXCPU,
	}[strings.TrimPrefix(name, "SIG")]
	return n, ok
}

func dieBySignal(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one signal")
	}
	n, ok := signalNumber(args[0])
	if !ok {
		return fmt.Errorf("the signal %q is unknown", args[0])
	}
	noCore := syscall.Rlimit{}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &noCore); err != nil {
		return err
	}
	if err := restoreDefault(n); err != nil {
		return err
	}
	if err := syscall.Kill(os.Getpid(), n); err != nil {
		return err
	}
	time.Sleep(time.Second) // the signal may take a moment
	return fmt.Errorf("the signal %q did not end the program", args[0])
}
