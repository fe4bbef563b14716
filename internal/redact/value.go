package redact

import (
	"regexp"
	"strings"
	"sync"
)

// SecretValue reports whether a value looks like a secret, whatever its name,
// and the name of the matching pattern ("github-token", "jwt", "url-userinfo",
// …). The time is linear in the length of the value.
//
// The patterns are E-069 to E-092 of the project's environment rules, most of
// them taken from gitleaks.
func SecretValue(value string) (rule string, secret bool) {
	if len(value) >= shortest {
		in := bytesOf(value)
		for _, p := range patterns() {
			if p.mayMatch(value, &in) && p.re().MatchString(value) {
				return p.name, true
			}
		}
	}
	if hasUserinfo(value) {
		return "url-userinfo", true
	}
	return "", false
}

// pattern is one form of secrets.
type pattern struct {
	name string
	// Every match contains one of these bytes and one of these literals;
	// searching for them is cheap.
	bytes    string
	keywords []string
	fold     bool // keywords are lower case and match in any case
	re       func() *regexp.Regexp
}

// mayMatch reports whether it is worthwhile to run the expression on s, whose
// bytes are in.
func (p *pattern) mayMatch(s string, in *byteSet) bool {
	if !in.hasAny(p.bytes) {
		return false
	}
	for _, k := range p.keywords {
		if p.fold && indexFold(s, k) >= 0 || !p.fold && strings.Contains(s, k) {
			return true
		}
	}
	return false
}

// byteSet is the set of bytes in a string.
type byteSet [256]bool

func bytesOf(s string) (in byteSet) {
	for i := range len(s) {
		in[s[i]] = true
	}
	return in
}

func (in *byteSet) hasAny(bytes string) bool {
	for i := range len(bytes) {
		if in[bytes[i]] {
			return true
		}
	}
	return false
}

// shortest is the length of the shortest match of any pattern.
const shortest = 12 // slack-app

// patterns is built when it is first needed, and each expression when its
// keyword is first found.
var patterns = sync.OnceValue(func() []*pattern {
	return []*pattern{
		{name: "aws-access-key-id", bytes: "A", keywords: []string{"A3T", "AKIA", "ASIA", "ABIA", "ACCA"},
			re: lazily(`\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`)},
		{name: "github-token", bytes: "_", keywords: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"},
			re: lazily(`\b(?:ghp|gho|ghu|ghs|ghr)_[0-9A-Za-z]{36}`)},
		{name: "github-fine-grained", bytes: "_", keywords: []string{"github_pat_"},
			re: lazily(`\bgithub_pat_\w{22,}`)},
		{name: "gitlab-token", bytes: "-", keywords: []string{"glpat-", "glrt-", "gldt-", "gloas-", "glptt-", "glcbt-", "glagent-", "glimt-", "glsoat-", "glft-", "glffct-"},
			re: lazily(`\bgl(?:pat|rt|dt|oas|ptt|cbt|agent|imt|soat|ft|ffct)-[\w-]{20,}`)},
		{name: "slack-token", bytes: "-", keywords: []string{"xox"},
			re: lazily(`\bxox[abeoprs]-[0-9A-Za-z-]{10,}`)},
		{name: "slack-app", bytes: "-", keywords: []string{"xapp-"},
			re: lazily(`\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+`)},
		{name: "slack-webhook", bytes: "/", keywords: []string{"hooks.slack.com/"},
			re: lazily(`hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,}`)},
		{name: "private-key-block", bytes: "-", keywords: []string{"PRIVATE KEY"},
			re: lazily(`-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----`)},
		{name: "jwt", bytes: ".", keywords: []string{".ey"},
			re: lazily(`\bey[A-Za-z0-9_-]{16,}\.ey[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{10,}`)},
		{name: "google-api-key", bytes: "z", keywords: []string{"AIza"},
			re: lazily(`\bAIza[\w-]{35}`)},
		{name: "stripe", bytes: "_", keywords: []string{"sk_test_", "sk_live_", "sk_prod_", "rk_test_", "rk_live_", "rk_prod_"},
			re: lazily(`\b(?:sk|rk)_(?:test|live|prod)_[0-9A-Za-z]{10,}`)},
		{name: "openai", bytes: "-", keywords: []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "T3BlbkFJ"},
			re: lazily(`\bsk-(?:proj|svcacct|admin)-[\w-]{20,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`)},
		{name: "anthropic", bytes: "-", keywords: []string{"sk-ant-"},
			re: lazily(`\bsk-ant-[a-z0-9]{3,}-[\w-]{20,}`)},
		{name: "tipstaff-token", bytes: "_", keywords: []string{"tps_"},
			re: lazily(`\btps_[A-Z2-7]{52}\b`)},
		{name: "npm-token", bytes: "_", keywords: []string{"npm_"},
			re: lazily(`\bnpm_[A-Za-z0-9]{36}`)},
		{name: "pypi-token", bytes: "-", keywords: []string{"pypi-AgEIcHlwaS5vcmc"},
			re: lazily(`\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}`)},
		{name: "huggingface", bytes: "_", keywords: []string{"hf_"},
			re: lazily(`\bhf_[A-Za-z]{34}\b`)},
		{name: "sendgrid", bytes: ".", keywords: []string{"SG."},
			re: lazily(`\bSG\.[\w.-]{60,}`)},
		{name: "digitalocean", bytes: "_", keywords: []string{"doo_v1_", "dop_v1_", "dor_v1_"},
			re: lazily(`\bdo[opr]_v1_[a-f0-9]{64}`)},
		{name: "vault", bytes: ".", keywords: []string{"hvs.", "hvb."},
			re: lazily(`\bhv[sb]\.[\w-]{80,}`)},
		{name: "databricks", bytes: "d", keywords: []string{"dapi"},
			re: lazily(`\bdapi[a-f0-9]{32}`)},
		{name: "age", bytes: "-", keywords: []string{"AGE-SECRET-KEY-1"},
			re: lazily(`AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`)},
		{name: "telegram-bot", bytes: ":", keywords: []string{":AA"},
			re: lazily(`\b\d{8,10}:AA[\w-]{33}\b`)},
		{name: "authorization-header", bytes: " \t\n\f\r", keywords: []string{"bearer", "basic"}, fold: true,
			re: lazily(`(?i)\b(?:authorization:\s*)?(?:bearer|basic)\s+[A-Za-z0-9+/_.=-]{16,}`)},
	}
})

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// indexFold finds lower, which consists of lower-case ASCII letters, in s in
// any case; -1 if it is not there.
func indexFold(s, lower string) int {
	for i := 0; i+len(lower) <= len(s); i++ {
		if s[i]|0x20 == lower[0] && strings.EqualFold(s[i:i+len(lower)], lower) {
			return i
		}
	}
	return -1
}
