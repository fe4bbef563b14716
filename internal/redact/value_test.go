package redact

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// rows reads a testdata file of one JSON object per line.
func rows[T any](t testing.TB, file string) []T {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var row T
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, row)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}

func TestVariablesAreSortedLikeTheCorpusDoes(t *testing.T) {
	for _, row := range rows[struct {
		ID, Name, Value string
		Secret          bool
	}](t, "names.jsonl") {
		nameRule, byName := SecretName(row.Name)
		valueRule, byValue := SecretValue(row.Value)
		if got := byName || byValue; got != row.Secret {
			t.Errorf("%s: %s=%s: secret = %v (%q %q), want %v", row.ID, row.Name, row.Value, got, nameRule, valueRule, row.Secret)
		}
	}
}

func TestPatternsAreThoseOfTheCorpus(t *testing.T) {
	got := map[string]string{"url-userinfo": ""}
	for _, p := range patterns() {
		got[p.name] = p.re().String()
	}
	list := rows[struct{ Name, Pattern string }](t, "value-patterns.jsonl")
	for _, row := range list {
		if expr, ok := got[row.Name]; !ok || expr != row.Pattern && row.Name != "url-userinfo" {
			t.Errorf("%s: %q, want %q", row.Name, expr, row.Pattern)
		}
	}
	if len(got) != len(list) {
		t.Errorf("%d patterns, want %d", len(got), len(list))
	}
}

// samples returns an invented secret of every form.
func samples() map[string]string {
	a := func(n int) string { return strings.Repeat("a", n) }
	return map[string]string{
		"aws-access-key-id":    "AKIAABCDEFGHIJKLMNOP",
		"github-token":         "ghp_" + a(36),
		"github-fine-grained":  "github_pat_" + a(30),
		"gitlab-token":         "glpat-" + a(20),
		"slack-token":          "xoxb-1234567890",
		"slack-app":            "xapp-1-A-1-a",
		"slack-webhook":        "https://hooks.slack.com/services/" + a(44),
		"private-key-block":    "-----BEGIN RSA PRIVATE KEY-----",
		"jwt":                  "ey" + a(16) + ".ey" + a(16) + "." + a(10),
		"google-api-key":       "AIza" + a(35),
		"stripe":               "sk_live_" + a(10),
		"openai":               "sk-proj-" + a(20),
		"anthropic":            "sk-ant-api03-" + a(20),
		"tipstaff-token":       "tps_" + strings.Repeat("Q7", 26),
		"npm-token":            "npm_" + a(36),
		"pypi-token":           "pypi-AgEIcHlwaS5vcmc" + a(50),
		"huggingface":          "hf_" + a(34),
		"sendgrid":             "SG." + a(60),
		"digitalocean":         "dop_v1_" + a(64),
		"vault":                "hvs." + a(80),
		"databricks":           "dapi" + a(32),
		"age":                  "AGE-SECRET-KEY-1" + strings.Repeat("Q", 58),
		"telegram-bot":         "12345678:AA" + a(33),
		"url-userinfo":         "https://u:abc@h",
		"authorization-header": "BEARER " + a(16),
	}
}

func TestEveryFormOfSecretIsSeenByItsValue(t *testing.T) {
	for want, value := range samples() {
		for _, text := range []string{value, "x " + value + " y", "(" + value + ")"} {
			if got, ok := SecretValue(text); !ok || got != want {
				t.Errorf("SecretValue(%q) = %q, %v; want %q", text, got, ok, want)
			}
		}
	}
	if len(samples()) != len(patterns())+1 {
		t.Error("a pattern has no sample")
	}
}

// FuzzValue compares the fast searches (keywords, the scan for URLs) with the
// expressions that they replace.
func FuzzValue(f *testing.F) {
	var all []*regexp.Regexp
	for _, row := range rows[struct{ Name, Pattern string }](f, "value-patterns.jsonl") {
		all = append(all, regexp.MustCompile(row.Pattern))
	}
	for _, s := range samples() {
		f.Add(s)
	}
	f.Add("xab+c.d://üu:päß@h a://:b@ ab://::::@")
	f.Fuzz(func(t *testing.T, value string) {
		want := false
		for _, re := range all {
			want = want || re.MatchString(value)
		}
		SecretName(value) // must not panic
		if rule, got := SecretValue(value); got != want {
			t.Errorf("SecretValue(%q) = %q, %v; the expressions say %v", value, rule, got, want)
		}
	})
}
