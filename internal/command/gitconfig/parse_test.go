package gitconfig_test

import (
	"errors"
	"strings"
	"testing"

	"tipstaff/internal/command/gitconfig"
)

// texts are read, or refused, as git does. The fuzzer begins with them.
var texts = []string{
	"", "\n", "  \t ", "# only a comment", "; only a comment\n", "#\\\n[a]\nb = c",
	"[core]\n\tbare = false\n", "[core] bare = false", "[core]bare=false", "[CORE]\n\tBaRe = FALSE\n",
	"[core]\nbare", "[core]\nbare\n", "[core]\nbare =\n", "[core]\nbare = \n", "[core]\nbare=", "[core]\nbare \t= \ttrue \t\n", "[core]\nbare \n[a] b",
	"[a]\nb = c # d\n", "[a]\nb = c ; d\n", "[a]\nb = c#d\n", "[a]\nb = \"c # d\"\n", "[a]\nb = \"c ; d\" # e\n", "[a]\nb # c\n", "[a]\nb ; = c\n",
	"[a] b = c [d] e = f\n", "[a] b = c\n[d] e = f\n", "[a]\nb=c=d\n", "[a] # c\nb = d", "[a] ; c\nb = d", "[a][b]c=d", "[a] [b] c",
	"[a]\nb = c \\\n d\n", "[a]\nb = c\\\nd\n", "[a]\nb = c\\\r\nd\r\n", "[a]\nb = c\\", "[a]\nb = \\", "[a]\nb = \\\n", "[a]\nb = \\\n\\\nc\n", "[a]\nb = \"c\\\nd\"\n", "[a]\nb = c \\\n# d\n", "[a]\nb = c # d \\\n e = f\n", "[a]\nb\\\n= c\n", "[a]\nb = c  \\\n  \n",
	"[a]\nb = \"c\n", "[a]\nb = \"c", "[a]\nb = c\"d\"e\n", "[a]\nb = \"\"\n", "[a]\nb = \"\" c\n", "[a]\nb = \" c \" \n", "[a]\nb = c \"\"\n", "[a]\nb = \"a\"\"b\"\n",
	"[a]\nb = \\\"c\\\\d\\n\\te\\b\n", "[a]\nb = \\x\n", "[a]\nb = \\0\n", "[a]\nb = \"\\q\"\n", "[a]\nb = \\ c\n", "[a]\nb = !sh -c \\\"x\\\"\n",
	"[a \"b\"]\nc = d\n", "[a\t\"b\"]\nc = d\n", "[A \"B\"]\nC = D\n", "[a \"b\" ]\nc = d\n", "[a \"b\"c]\nd = e\n", "[a \"b]\nc = d\n", "[a \"b\\\"c\\\\d\\e\"]\nf = g\n", "[a \"b\nc\"]\nd = e\n", "[a \"b\\\nc\"]\nd = e\n", "[a \"\"]\nb = c\n", "[a \"]\"]\nb = c\n", "[a \"b.c\"]\nd = e\n", "[a \"#;\"]\nb = c\n", "[a \"\t\"]\nb = c", "[a b]\nc = d\n", "[a \n\"b\"]\nc = d\n", "[a\n]\nb = c",
	"[a.b]\nc = d\n", "[A.B]\nc = d\n", "[a.b.c]\nd = e\n", "[a.b \"C\"]\nd = e\n", "[a.]\nb = c\n", "[a..]\nb = c\n", "[a. \"B\"]\nc = d\n", "[a-b]\nc-d = e\n", "[1]\na = b\n", "[-]\na = b\n",
	"[]\na = b\n", "[ a]\nb = c\n", "[a", "[a\n", "[a]b", "[a]\n1 = b\n", "[a]\n-b = c\n", "[a]\nb_c = d\n", "[a]\nb.c = d\n", "[a]\nb c = d\n", "[a]\n= b\n", "[a]\nb: c\n", "[a_b]\nc = d\n", "[a]]\nb = c\n", "b = c\n[a]\n",
	"\ufeff[a]\nb = c\n", "\ufeff", "\xef\xbb[a]\nb = c\n", "\ufeff\ufeff[a]\nb=c", "\ufeffa", "[a]\r\nb = c\r\n", "[a]\r\nb\r\n", "[a \"b\"]\r\nc = d \r\n", "[a]\nb = \u00e9\xff\n", "[a \"\xff\u00e9\"]\nb = c\n", "[\u00e9]\na = b\n", "[a]\nb = c\x01d\x7f\n",
	"[a]\nb = c\td  e\t f\n", "[a]\nb = \"c\td\"\n", "[a]\n\vb = c\n", "[a]\nb = \vc\v\n", "[a]\n\fb = c\n", "[a]\nb = c\n\n\n[a]\nb = d\n[a]b=e", "[a]\nb=c\n[d]\n[a]\nb=c", "[include]\npath = /nonexistent\n", "%", "[a]\n\"b\" = c\n", "[a]\n[b\n", "[a]\nb = '\"'\n",
}

// strict are texts that git reads and we do not, on purpose.
var strict = map[string]string{
	"[ \"b\"]\nc = d\n": "a section has no name",
	"[.b]\nc = d\n":     "a section has no name",
	"b = c\n[a]\n":      "a key stands before the first section",
	"\ufeffa":           "a key stands before the first section",
	"[a]\nb = c\rd\n":   "a carriage return",
	"[a]\nb = c\r":      "a carriage return",
	"[a]\nb = c\r\r\n":  "a carriage return",
	"# a\rb\n":          "a carriage return",
	"[a \"" + strings.Repeat("b", 5000) + "\"]": "longer than 4096 bytes",
}

func TestATextIsReadAsGitReadsIt(t *testing.T) {
	g := newGit(t)
	for _, text := range texts {
		entries, err := gitconfig.Parse([]byte(text))
		theirs, ok := g.list(t, text)
		switch {
		case strict[text] != "":
		case ok != (err == nil):
			t.Errorf("%q: git reads it: %t; we say %v", text, ok, err)
		case ok && !g.same(theirs, g.ours(entries)):
			t.Errorf("%q: git reads %q, we %q", text, theirs, g.ours(entries))
		}
	}
	t.Logf("%d texts", len(texts))
}

func TestWhatIsRefusedThoughGitReadsItIsKnown(t *testing.T) {
	g := newGit(t)
	for text, why := range strict {
		_, err := gitconfig.Parse([]byte(text))
		var syntax *gitconfig.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, not %q", text, err, why)
		}
		if _, ok := g.list(t, text); !ok {
			t.Errorf("%q: git refuses it too", text)
		}
	}
	for text, why := range map[string]string{
		"[a]\nb = c\x00d\n":              "a NUL",
		"#" + strings.Repeat("b", 1<<20): "larger than 1048576 bytes",
	} {
		if _, err := gitconfig.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v, not %q", text, err, why)
		}
	}
}

func TestWithAFaultComeItsLineAndWhatStandsBefore(t *testing.T) {
	entries, err := gitconfig.Parse([]byte("[a]\nb = c \\\n d\n\n[e\nf = g\n"))
	var syntax *gitconfig.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 5 || len(entries) != 1 || entries[0].Value != "c  d" {
		t.Errorf("%v, %v", entries, err)
	}
}

// FuzzAgainstGit: what is accepted, git reads in the same way.
func FuzzAgainstGit(f *testing.F) {
	g := newGit(f)
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := gitconfig.Parse([]byte(text))
		if err != nil {
			return
		}
		theirs, ok := g.list(t, text)
		if !ok || !g.same(theirs, g.ours(entries)) {
			t.Errorf("%q: git reads %q, %t, we %q", text, theirs, ok, g.ours(entries))
		}
	})
}

// FuzzPiecesAgainstGit is FuzzAgainstGit on texts that are put together from
// what means something to git; here git may not read what is refused either.
func FuzzPiecesAgainstGit(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	pieces := []string{
		"[", "]", "[a]", "[a \"B\"]", "\"", "\\", "\\\n", "\n", "\r\n", " ", "\t", "=", "#", ";", "a", "b-1", "X", ".", "core", "path",
		"[c.D]\n", "\\\"", "\\n", "\\x", "!sh", "\v", "\xff", "\ufeff", "_", "= ",
	}
	g := newGit(f)
	f.Fuzz(func(t *testing.T, which []byte) {
		if len(which) > 40 {
			return
		}
		var b strings.Builder
		for _, c := range which {
			b.WriteString(pieces[int(c)%len(pieces)])
		}
		text := b.String()
		entries, err := gitconfig.Parse([]byte(text))
		theirs, ok := g.list(t, text)
		if err != nil {
			why := err.Error()
			if ok && !strings.Contains(why, "has no name") && !strings.Contains(why, "before the first section") {
				t.Errorf("%q: git reads %q, we refuse it: %v", text, theirs, err)
			}
			return
		}
		if !ok || !g.same(theirs, g.ours(entries)) {
			t.Errorf("%q: git reads %q, %t, we %q", text, theirs, ok, g.ours(entries))
		}
	})
}
