package authn

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func made(t *testing.T, name string) (string, TokenRow) {
	t.Helper()
	token, r, err := NewTokenRow(name, []string{"execute", "read"}, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return token, r
}

// TestATokenIsAddedToAFileAsItIsWritten, with any indentation, and without
// changing the rest.
func TestATokenIsAddedToAFileAsItIsWritten(t *testing.T) {
	_, old := made(t, "old")
	for name, before := range map[string]string{
		"no file":           "",
		"indented by two":   "# ours\ntokens: # all\n" + old.YAML("  "),
		"not indented":      "tokens:\n" + old.YAML(""),
		"indented by four":  "tokens:\n" + old.YAML("    "),
		"no line at end":    "tokens:\n" + strings.TrimSuffix(old.YAML("  "), "\n"),
		"an empty list":     "tokens:\n",
		"a comment at last": "tokens:\n" + old.YAML("  ") + "# the end\n",
	} {
		path := filepath.Join(t.TempDir(), "tokens.yaml")
		if before != "" {
			write(t, path, before, 0o600)
		}
		token, r := made(t, "null") // a word that YAML would read as something else
		if err := AppendToken(path, r); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		g, err := New(Options{TokensFile: path, Now: func() time.Time { return time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC) }})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if who, err := by(g, token); err != nil || who.Name != "token:null" {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		after := string(must(os.ReadFile(path)))
		if info := must(os.Stat(path)); !strings.HasPrefix(after, before) || info.Mode().Perm() != 0o600 || strings.Contains(after, token) {
			t.Errorf("%s: %o\n%s", name, info.Mode().Perm(), after)
		}
		if err := AppendToken(path, r); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("%s: twice: %v", name, err)
		}
		if again := string(must(os.ReadFile(path))); again != after {
			t.Errorf("%s: a token that was refused has left something", name)
		}
	}
}

func TestAFileOfAnotherFormIsLeftAlone(t *testing.T) {
	for _, text := range []string{"tokens: []\n", `{"tokens": []}`, "tokens: oops\n", ""} {
		path := filepath.Join(t.TempDir(), "tokens.yaml")
		write(t, path, text, 0o600)
		_, r := made(t, "new")
		if err := AppendToken(path, r); err == nil {
			t.Errorf("%q: it was added", text)
		} else if strings.Contains(text, "[]") && !errors.Is(err, ErrForm) {
			t.Errorf("%q: %v", text, err)
		}
		if after := string(must(os.ReadFile(path))); after != text {
			t.Errorf("%q is %q now", text, after)
		}
	}
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	write(t, path, "tokens:\n", 0o644)
	_, r := made(t, "new")
	if err := AppendToken(path, r); !errors.Is(err, errOthersRead) {
		t.Errorf("a file for everybody: %v", err)
	}
}
