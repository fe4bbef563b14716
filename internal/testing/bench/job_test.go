//go:build linux

package bench

import (
	"context"
	"regexp"
	"testing"
	"time"
)

// BenchmarkBackgroundStart: true in the background against true that is waited for,
// in turns. Budget: at most 1.1 ×.
func BenchmarkBackgroundStart(b *testing.B) {
	s := start(b, "tipstaff")
	run := func(background bool) func() time.Duration {
		return func() time.Duration {
			took, _ := s.answer(b, "execute_process", map[string]any{"file": "true", "background": background})
			return took
		}
	}
	for range 20 {
		run(true)()
		run(false)()
	}
	turns(b, inRow, run(true), run(false))
}

// BenchmarkReadOutputWithoutNews: read_output of a command that prints nothing,
// against the protocol's ping of the same server. Budget: less than 1 ms more.
func BenchmarkReadOutputWithoutNews(b *testing.B) {
	s := start(b, "tipstaff")
	_, text := s.answer(b, "execute_process", map[string]any{"file": "sleep", "args": []string{"600"}, "background": true})
	id := regexp.MustCompile(`command_id: "?(\w+)`).FindStringSubmatch(text)
	if id == nil {
		b.Fatalf("%s names no command", text)
	}
	turns(b, inRow, func() time.Duration {
		took, _ := s.answer(b, "read_output", map[string]any{"command_id": id[1]})
		return took
	}, func() time.Duration {
		began := time.Now()
		if err := s.session.Ping(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	})
}
