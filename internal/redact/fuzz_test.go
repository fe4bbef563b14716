package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func FuzzKnownValueNeverSurvives(f *testing.F) {
	for _, row := range rows[struct {
		Argv []string
		Text string
	}](f, "commands.jsonl") {
		f.Add(strings.Join(row.Argv, "\x00")+row.Text, 3)
	}
	const secret = "Zq7-planted-SECRET"
	r := New(map[string]string{"PLANTED": secret})
	f.Fuzz(func(t *testing.T, s string, at int) {
		at = min(max(at, 0), len(s))
		s = s[:at] + secret + s[at:]
		if got := r.Text(s); strings.Contains(got, secret) {
			t.Errorf("Text(%q) = %q", s, got)
		}
		if got := r.Argv(strings.Split(s, "\x00")); strings.Contains(fmt.Sprint(got), secret) {
			t.Errorf("Argv(%q) = %q", s, got)
		}
	})
}

func FuzzPasswordIsHiddenToItsLastByte(f *testing.F) {
	for _, p := range []string{"hunter2", "a b", `"q"`, `it's`, `\`, "a=b", "a&b,c;d", "x:y@z/", "<>", "{[", "pässwörd"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if harmless("password", unquoted(p)) || optionLike(strings.TrimLeft(p, "\"'\\")) || !utf8.ValidString(p) || strings.Contains(p, "\x00") {
			return
		}
		const hidden = "<redacted:password>"
		for _, c := range []struct{ argv, want []string }{
			{[]string{"tool", "--password", p, "x"}, []string{"tool", "--password", hidden, "x"}},
			{[]string{"tool", "--password=" + p, "x"}, []string{"tool", "--password=" + hidden, "x"}},
			{[]string{"env", "DB_PASSWORD=" + p, "x"}, []string{"env", "DB_PASSWORD=" + hidden, "x"}},
			{[]string{"tool", "-u", "user:x" + p}, []string{"tool", "-u", "user:" + hidden}},
			{[]string{"tool", `{"password":` + quoteJSON(p) + `,"n":1}`}, []string{"tool", `{"password":` + hidden + `,"n":1}`}},
		} {
			if got := New(nil).Argv(c.argv); !slices.Equal(got, c.want) {
				t.Errorf("Argv(%q)\n got %q\nwant %q", c.argv, got, c.want)
			}
		}
		quoted := "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
		for _, option := range []string{"--password ", "--password=", "DB_PASSWORD="} {
			line := "tool " + option + quoted + " x"
			// In text that was not split, more may be hidden, never less.
			got := New(nil).Text(line)
			if rest, ok := strings.CutPrefix(got, "tool "+option+hidden); !ok || !strings.HasSuffix(" x", rest) {
				t.Errorf("Text(%q) = %q", line, got)
			}
		}
	})
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// TestLongArgumentsTakeLinearTime: ten times the length must take much less
// than a hundred times as long, for texts that provoke repeated work.
func TestLongArgumentsTakeLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, unit := range []string{
		"://", "a://u:", "a://u:p@", "KEY=./", "KEY=true&", "token:", "token: ", "\"token\":", "\"token\":\"", "'", "\"", "\"'", "\\\"",
		"-----BEGIN PRIVATE KEY-----", "ey", ".ey", "ghp_", "a", "A", "=", ":", "--password ", "--password=", "-u a:b ", "'a b' ", "\"a b\" ", "(", "{\"password\":{", "identified by '", "identified by ''", "bearer ", "mysql -p ", " ", "a=", "a_", "Authorization: ", "KNOWNSECRE",
	} {
		r := New(known())
		measure := func(n int) time.Duration {
			s := strings.Repeat(unit, n/len(unit)+1)
			best := time.Hour
			for range 3 {
				best = min(best, testcmdtest.ProcessorTime(t, func() {
					r.Argv([]string{"x", s})
					r.Text(s)
				}))
			}
			return best
		}
		// The machine may be busy, but quadratic work takes long every time.
		var short, long time.Duration
		for range 8 {
			short, long = measure(6_000), measure(60_000)
			if long <= 40*short || long <= 60*time.Millisecond {
				break
			}
		}
		if long > 40*short && long > 60*time.Millisecond {
			t.Errorf("%q: %v for 6 kB, %v for 60 kB", unit, short, long)
		}
		t.Logf("%-30q %10v %10v", unit, short, long)
	}
}

func BenchmarkArgv(b *testing.B) {
	secrets := map[string]string{}
	for i := range 20 {
		secrets[fmt.Sprint("SECRET_", i)] = fmt.Sprintf("some-secret-value-%d-%d", i, i*7919)
	}
	r := New(secrets)
	for name, argv := range map[string][]string{
		"git":    {"git", "log", "--oneline", "-n", "20", "--", "src/main.go"},
		"go":     {"go", "test", "-race", "-run", "TestSomething", "-count=1", "./internal/..."},
		"commit": {"git", "commit", "-m", "redact: hide the values of fields\n\nA value ends where the list that its name stands in has its next mark: this keeps the rest readable."},
		"curl":   {"curl", "-sS", "-H", "Authorization: Bearer abcdefghijklmnop", "-d", `{"user":"bob","password":"hunter2"}`, "https://api.example.test/v1/items?page=2&size=50"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Argv(argv)
			}
		})
	}
}
