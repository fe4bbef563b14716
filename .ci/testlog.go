// Testlog reads what `go test -json` prints and shows it as go test would
// without -json: a line for each package, and the whole output of what failed.
// Then it names every test that was skipped, with the reason that the test
// gave, because a test that was skipped has not been run. What failed comes
// once more at the end, where the reader of a long log begins.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// event is a line of `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
}

// test names a test, or with an empty name the package itself.
type test struct{ pkg, name string }

type testlog struct {
	output  map[test]string // of what has not ended
	skipped []string
	broken  []string // the output of each test that failed
	passed  int
	failed  int
}

func main() {
	log := testlog{output: map[test]string{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text()) // not of test2json
			continue
		}
		log.add(e)
	}
	if err := lines.Err(); err != nil {
		fmt.Println("testlog:", err)
		os.Exit(1)
	}
	for _, s := range log.skipped {
		fmt.Println(s)
	}
	missed := log.sandboxSkipped()
	for _, s := range missed {
		fmt.Println("MISSED, although this kernel can: " + s)
	}
	if len(log.broken) > 0 {
		fmt.Print("what failed, once more:\n" + strings.Join(log.broken, ""))
	}
	fmt.Printf("tests: %d passed, %d failed, %d skipped\n", log.passed, log.failed, len(log.skipped))
	if len(missed) > 0 {
		os.Exit(1)
	}
}

// sandboxSkipped lists tests of the sandbox that were skipped for want of a tier,
// on a machine that .ci/run has found to have it.
func (l *testlog) sandboxSkipped() []string {
	var missed []string
	for _, s := range l.skipped {
		if os.Getenv("TIPSTAFF_CI_SANDBOX") == "1" && (strings.Contains(s, "no tier") || strings.Contains(s, "no namespaces here")) {
			missed = append(missed, s)
		}
	}
	return missed
}

func (l *testlog) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		l.output[t] += e.Output
	case "build-output":
		fmt.Print(e.Output)
	case "pass", "fail", "skip":
		if t.name == "" {
			l.endPackage(e.Action, t)
		} else {
			l.endTest(e.Action, t)
		}
		delete(l.output, t)
	}
}

func (l *testlog) endTest(how string, t test) {
	switch how {
	case "pass":
		l.passed++
	case "fail":
		l.failed++
		fmt.Print(l.output[t])
		l.broken = append(l.broken, l.output[t])
	case "skip":
		l.skipped = append(l.skipped, fmt.Sprintf("SKIP %s %s: %s", t.pkg, t.name, reason(l.output[t])))
	}
}

// endPackage shows the closing line of a package that is well, and everything
// of one that is not: also of tests that never came to an end.
func (l *testlog) endPackage(how string, pkg test) {
	if how == "fail" {
		for t, output := range l.output {
			if t.pkg == pkg.pkg && t.name != "" {
				fmt.Print(output)
				l.broken = append(l.broken, output)
			}
		}
		fmt.Print(l.output[pkg])
		l.broken = append(l.broken, l.output[pkg])
		return
	}
	for line := range strings.Lines(l.output[pkg]) {
		if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ") {
			fmt.Print(line)
		}
	}
}

// reason is what a test said, without the lines of the framework.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
