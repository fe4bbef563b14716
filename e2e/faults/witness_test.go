//go:build linux && !race

package faults

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// witnessName is the program that agents let run. It is this test binary under
// another name, so nothing has to be built for it.
const witnessName = "witness"

// startedFile is in the directory of a runner. Each command adds a line with its
// id to it, by one write of O_APPEND, before it does anything else.
const startedFile = "started"

// witness is the program: witness ID BYTES MILLISECONDS prints so many bytes that
// follow from the id, spread over so much time.
func witness(args []string) int {
	if len(args) != 3 {
		return 2
	}
	id := args[0]
	f, err := os.OpenFile(startedFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	if _, err := f.WriteString(id + "\n"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	_ = f.Close()
	size, err1 := strconv.Atoi(args[1])
	millis, err2 := strconv.Atoi(args[2])
	if err1 != nil || err2 != nil {
		return 2
	}
	lines := strings.SplitAfter(testimony(id, size), "\n")
	steps := max(1, millis/50)
	for i := range steps {
		if millis > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		from, to := i*len(lines)/steps, (i+1)*len(lines)/steps
		if _, err := os.Stdout.WriteString(strings.Join(lines[from:to], "")); err != nil {
			return 4
		}
	}
	return 0
}

// testimony is what a command prints: lines of which no two are alike, so that
// one that is lost, there twice, or another command's is found.
func testimony(id string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%s %06d\n", id, i)
	}
	return b.String()
}
