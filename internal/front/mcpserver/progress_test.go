package mcpserver

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/redact"
)

// told collects what a client is told, with the time of each.
type told struct {
	mu       sync.Mutex
	began    time.Time
	messages []string
	values   []float64
	at       []time.Duration
}

func (c *told) notify(_ context.Context, p *mcp.ProgressNotificationParams) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages, c.values, c.at = append(c.messages, p.Message), append(c.values, p.Progress), append(c.at, time.Since(c.began))
	return nil
}

func TestProgressComesWithinASecondThenEveryTenUntilTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &told{began: time.Now()}
		p := newProgress("t", c.notify, nil)
		stdout, stderr := p.heard()
		ctx, cancel := context.WithCancel(t.Context())
		var telling sync.WaitGroup
		telling.Go(func() { p.tell(ctx) })
		time.Sleep(time.Second)
		p.now(running)
		time.Sleep(10 * time.Second)
		stdout([]byte("one\n\x1b[31mtwo\u202e\nhalf a line"))
		time.Sleep(10 * time.Second)
		stderr([]byte("and\rthree\r\n\n"))
		time.Sleep(10 * time.Second)
		cancel()
		telling.Wait()
		time.Sleep(time.Hour)
		want := []string{
			"waiting for its turn for 0 s", "running for 9 s, no line of output yet",
			`running for 19 s: \x1b[31mtwo\u202e`, "running for 29 s: three",
		}
		if strings.Join(c.messages, "|") != strings.Join(want, "|") {
			t.Errorf("told\n  %s\nwant\n  %s", strings.Join(c.messages, "\n  "), strings.Join(want, "\n  "))
		}
		for i, at := range c.at {
			if want := 500*time.Millisecond + time.Duration(i)*10*time.Second; at != want {
				t.Errorf("%d was told after %v, want %v", i, at, want)
			}
			if i > 0 && c.values[i] <= c.values[i-1] {
				t.Errorf("progress went from %v to %v", c.values[i-1], c.values[i])
			}
		}
	})
}

func TestTheFirstProgressSaysWhatRuns(t *testing.T) {
	r := redact.New(map[string]string{"API_KEY": "correct-horse-battery-staple"})
	for name, c := range map[string]struct {
		asked   tipstaff.Request
		printed string
		want    string
	}{
		"a command line":        {tipstaff.Request{Line: `npm test -- "a b"`}, "", "running: npm test -- 'a b'"},
		"a program":             {tipstaff.Request{Argv: []string{"sleep", "20"}}, "", "running: sleep 20"},
		"with output":           {tipstaff.Request{Argv: []string{"make"}}, "one\ntwo\n", "running: make; last line: two"},
		"a script":              {tipstaff.Request{Script: "echo; echo"}, "", "running: a script"},
		"with a secret":         {tipstaff.Request{Line: "curl -u me:correct-horse-battery-staple h"}, "", "running: curl -u 'me:<redacted:password>' h"},
		"with line ends":        {tipstaff.Request{Argv: []string{"sh", "-c", "a\nb"}}, "", `running: sh -c $'a\nb'`},
		"a long one":            {tipstaff.Request{Argv: []string{strings.Repeat("x", 1000)}}, "", "running: " + strings.Repeat("x", 200) + "…"},
		"what runs nothing":     {tipstaff.Request{}, "", "running for 0 s, no line of output yet"},
		"a line of three words": {tipstaff.Request{Line: "a | b"}, "", "running for 0 s, no line of output yet"},
	} {
		p := newProgress("t", nil, r)
		p.what = what(r, c.asked)
		p.now(running)
		stdout, _ := p.heard()
		stdout([]byte(c.printed))
		if got := p.first(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAShortCallTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &told{began: time.Now()}
		p := newProgress("t", c.notify, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var telling sync.WaitGroup
		telling.Go(func() { p.tell(ctx) })
		time.Sleep(400 * time.Millisecond)
		cancel()
		telling.Wait()
		if len(c.messages) != 0 {
			t.Errorf("it was told %q", c.messages)
		}
	})
}

func TestTheLastLineIsBoundedWholeAndWithoutSecrets(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	r := redact.New(map[string]string{"API_KEY": "correct-horse-battery-staple"})
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"nothing":                         {nil, ""},
		"no line has ended":               {[]string{"Password: "}, ""},
		"the last one that has":           {[]string{"a\nb\nc"}, "b"},
		"blank lines do not count":        {[]string{"a\n \n\t\r\n\n"}, "a"},
		"a bar that is drawn anew":        {[]string{"10%\r20%\r30%"}, "20%"},
		"a secret of the server":          {[]string{"key correct-horse-", "battery-staple.\n"}, "key <redacted:env:API_KEY>."},
		"a secret of a known form":        {[]string{"token ghp_", "0123456789abcdefghijklmnopqrstuvwxyz\n"}, "token <redacted:github-token>"},
		"a very long line":                {[]string{long, "\n"}, ""},
		"a line after a very long one":    {[]string{long, "\nok\n"}, "ok"},
		"a long line":                     {[]string{long[:1000], "\n"}, long[:200] + "…"},
		"much, in small pieces":           {append(strings.SplitAfter(strings.Repeat("line\n", 5000), "e"), "\nlast\n"), "last"},
		"what is no UTF-8":                {[]string{"a\xffb\n"}, "a\uFFFDb"},
		"a key in the middle of its text": {[]string{"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNb\n"}, "<redacted:private-key-block>"},
	} {
		t.Run(name, func(t *testing.T) {
			var l lastLine
			for _, p := range c.pieces {
				l.write([]byte(p))
			}
			if got := shownLine(r, l.whole()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if cap(l.buf) > lineBuffer {
				t.Errorf("%d bytes are kept", cap(l.buf))
			}
		})
	}
}

func FuzzLastLine(f *testing.F) {
	f.Add("a\nb\n", 1)
	f.Add(strings.Repeat("x\n", 9000), 4097)
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, min(size, 1<<16))
		var l lastLine
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			l.write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if w := l.whole(); !strings.Contains(text, w) || len(l.buf) > lineBuffer {
			t.Errorf("%q is not in what was written, or too much", w)
		}
	})
}

// BenchmarkHear: the cost of much output for a call with progress.
func BenchmarkHear(b *testing.B) {
	p := newProgress("t", nil, nil)
	stdout, _ := p.heard()
	chunk := []byte(strings.Repeat("a line of output that is read by nobody\n", 1600))
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		stdout(chunk)
	}
}
