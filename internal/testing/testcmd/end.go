package main

import (
	"fmt"
	"os"
	"os/signal"
)

// Programs that end in various ways.

func exit(args []string) error {
	code, err := number(args, 255)
	if err == nil {
		os.Exit(code)
	}
	return err
}

func sleep(args []string) error { return pause(args) }

func ignoreSignals([]string) error {
	signal.Ignore()
	fmt.Println("ready")
	return forever()
}
