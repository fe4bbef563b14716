// Benchtable writes the results of 'go test -bench' into the table of BENCHMARKS.md.
//
//	go test -run '^$' -bench . ./... > results
//	cd tools && go run ./benchtable -commit COMMIT ../BENCHMARKS.md < ../results
//
// It replaces figure, date, commit and machine of each row whose last cell names a
// benchmark and a metric of the results, and leaves the other rows alone.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	var m measurement
	flag.StringVar(&m.date, "date", time.Now().UTC().Format(time.DateOnly), "the day of the measurement")
	flag.StringVar(&m.commit, "commit", "", "the commit that was measured")
	flag.StringVar(&m.machine, "machine", "", "the machine; by default the processor that the benchmarks name")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: benchtable [flags] BENCHMARKS.md < results")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || m.commit == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stdout, flag.Arg(0), m); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, file string, m measurement) error {
	printed, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("cannot read the results: %w", err)
	}
	results := parseResults(string(printed))
	if m.machine == "" {
		m.machine = results.machine
	}
	document, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the table: %w", err)
	}
	text, rows, err := rewrite(string(document), results, m)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "benchtable: %d rows of %s are new\n", rows, file)
	if rows == 0 {
		return nil
	}
	return os.WriteFile(file, []byte(strings.TrimRight(text, "\n")+"\n"), 0o600) // the mode of a file that is there stays
}
