package redact

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// known are the secret variables of the server in these tests.
func known() map[string]string {
	return map[string]string{
		"CORPUS_API_TOKEN": "KNOWNSECRET",
		"CORPUS_OVERLAP":   "SECRETOVERLAP",
		"CORPUS_ODD":       "a/b+c d",
		"CORPUS_DB_URL":    "postgres://svc:s3cr3tpw@db.test/x",
		"CORPUS_SHORT_PIN": "1234",
		"CORPUS_PASSWORD":  "password",
		"CORPUS_KEY_FILE":  "/home/b/key",
	}
}

func TestCommandsAreShownWithoutTheirSecrets(t *testing.T) {
	r := New(known())
	for _, row := range rows[struct {
		Name           string
		Argv, Want     []string
		Text, WantText string
	}](t, "commands.jsonl") {
		t.Run(row.Name, func(t *testing.T) {
			if row.Argv != nil {
				want := row.Want
				if want == nil {
					want = row.Argv
				}
				if diff := cmp.Diff(want, r.Argv(row.Argv)); diff != "" {
					t.Errorf("Argv(%q): (-want +got)\n%s", row.Argv, diff)
				}
				return
			}
			want := row.WantText
			if want == "" {
				want = row.Text
			}
			if got := r.Text(row.Text); got != want {
				t.Errorf("Text(%q)\n got %q\nwant %q", row.Text, got, want)
			}
		})
	}
}

func TestOrdinaryCommandsAreShownAsTheyAre(t *testing.T) {
	secret := map[string]bool{
		"curl -s -u user:p@ss;w0rd -H Cookie: a=b; c=d https://h.test": true,
		"wget -q -O - https://h.test/f?token=abc&x=1":                  true,
	}
	list := rows[struct{ Argv []string }](t, "benign.jsonl")
	wrong := 0
	for _, row := range list {
		line := strings.Join(row.Argv, " ")
		got := New(known()).Argv(row.Argv)
		if changed := !slices.Equal(got, row.Argv); changed != secret[line] {
			wrong++
			t.Logf("%q is shown as %q", row.Argv, got)
		}
		if changed := New(nil).Text(line) != line; changed != secret[line] {
			t.Logf("as text: %q is shown as %q", line, New(nil).Text(line))
		}
	}
	if wrong*100 > len(list) {
		t.Errorf("%d of %d ordinary commands are shown wrongly, want at most 1 %%", wrong, len(list))
	}
}

func TestTheArgumentsThemselvesAreNeverChanged(t *testing.T) {
	argv := []string{"tool", "--password", "hunter2"}
	got := New(nil).Argv(argv)
	if argv[2] != "hunter2" || got[2] == "hunter2" {
		t.Errorf("argv = %q, shown as %q", argv, got)
	}
}

func TestNoRedactorStillKnowsForms(t *testing.T) {
	var r *Redactor
	if got := r.Text("--password x"); got != "--password <redacted:password>" {
		t.Errorf("got %q", got)
	}
}

func TestManyMayAskAtOnce(t *testing.T) {
	r := New(known())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if got := r.Argv([]string{"echo", "KNOWNSECRET"}); got[1] == "KNOWNSECRET" {
					t.Error("a known value was shown")
				}
			}
		})
	}
	all.Wait()
}
