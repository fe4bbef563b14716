package gitconfig_test

import (
	"strings"
	"testing"
	"time"
)

// usual is a configuration as it is after some weeks of work: 60 entries.
var usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\thooksPath = .husky\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[alias]\n\tlg = log --graph\n" +
	strings.Repeat("[branch \"feature/some-branch\"]\n\tremote = origin\n\tmerge = refs/heads/feature/some-branch\n", 26)

// hostile are texts of a MiB that should cost as much as possible.
var hostile = map[string]string{
	"entries":   fill("[alias]\n", "a\n", ""),
	"values":    fill("[alias]\n", "a=\\\"\\\"b\\\n", "\n"),
	"sections":  fill("", "[a \"b\"]c\n", ""),
	"long_name": fill("[alias \""+strings.Repeat("x", 4000)+"\"]\n", "a\n", ""),
	"remotes":   fill("[remote \""+strings.Repeat("x", 4000)+"\"]\nvcs=x\n", "url=/\n", ""),
	"one_value": fill("[remote \"a\"]\nurl=", "%", "\n"),
	"headers":   fill("", "["+strings.Repeat("x", 4000)+"]\n", ""),
}

func fill(head, part, tail string) string {
	return head + strings.Repeat(part, (1<<20-len(head)-len(tail))/len(part)) + tail
}

func BenchmarkJudge(b *testing.B) {
	b.Run("usual", func(b *testing.B) {
		proposed := []byte(usual + "[user]\n\temail = a@example.org\n")
		b.ReportAllocs()
		for b.Loop() {
			if err := testRepository.Judge([]byte(usual), proposed); err != nil {
				b.Fatal(err)
			}
		}
	})
	for says, text := range hostile {
		b.Run(says, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = testRepository.Judge([]byte(text), []byte(text+" "))
				_ = testRepository.Judge(nil, []byte(text))
			}
		})
	}
}

// TestAHostileTextCostsLittle has a bound that a quadratic reader would miss by
// far, and a machine under load does not.
func TestAHostileTextCostsLittle(t *testing.T) {
	for says, text := range hostile {
		start := time.Now()
		_ = testRepository.Judge([]byte(text), []byte(text))
		_ = testRepository.Judge(nil, []byte(text))
		testRepository.Unsafe([]byte(text))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %v", says, took)
		}
	}
}
