package job

import (
	"fmt"
	"testing"

	"tipstaff/internal/output/spool"
	"tipstaff/internal/redact"
)

// BenchmarkLastLine is what a look at one command that prints costs.
func BenchmarkLastLine(b *testing.B) {
	outputs, err := spool.Open(spool.Options{Redactor: redact.New(nil)})
	if err != nil {
		b.Fatal(err)
	}
	out := outputs.Begin("cmd_x")
	for i := range 2000 {
		fmt.Fprintf(out.Stdout(), "line of output %d\n", i)
	}
	j := &Job{id: "cmd_x", store: NewStore(Options{Outputs: outputs})}
	for b.Loop() {
		j.view.printed = 0
		j.view.taken = j.view.taken.AddDate(-1, 0, 0)
		_ = j.LastLine(func(s string) string { return s }, true)
	}
}
