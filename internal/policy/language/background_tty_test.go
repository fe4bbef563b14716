package language_test

import (
	"strings"
	"testing"
	"time"

	"tipstaff/internal/policy/language"
)

const manners = `version: 1
limits: {background: 6, max_timeout: 2h}
commands:
  npm:
    allow: ["run *", {rule: "test *", background: deny}, {rule: "test --watch", tty: deny}]
    ask: [{rule: publish, background: deny, id: no-publish}]
    limits: {background: 2, background_time: 8h}
  cat: {allow: ["*"], background: deny, tty: deny, why: "cat has nothing to wait for."}
  "*": {allow: ["*"], tty: deny}
profiles:
  review: {match: {agent: "review-*"}, background: deny}
  bots: {match: {agent: "review-*"}, tty: deny, limits: {background_time: 5m}}
`

func TestTheBackgroundAndTerminalsAreDeniedWhereTheFileSaysSo(t *testing.T) {
	p := loaded(t, manners)
	for _, c := range []struct{ line, agent, manner, want string }{
		{"npm run dev", "", "", "allow npm/allow"},
		{"npm run dev", "", "background tty", "allow npm/allow"},
		{"npm test x", "", "", "allow npm/allow"},
		{"npm test x", "", "background", "deny npm/allow/background"},
		{"npm test x", "", "tty", "allow npm/allow"},
		{"npm test --watch", "", "tty", "deny npm/allow/tty"},               // both rules match, and one denies it
		{"npm test --watch", "", "background", "deny npm/allow/background"}, // the other one
		{"npm publish", "", "", "ask no-publish"},
		{"npm publish", "", "background", "deny no-publish/background"},
		{"cat x", "", "", "allow cat/allow"},
		{"cat x", "", "background", "deny cat/background"},
		{"cat x", "", "tty", "deny cat/tty"},
		{"ls", "", "background", "allow */allow"},
		{"ls", "", "tty", "deny ls/tty"},
		{"npm run dev", "review-1", "", "allow npm/allow"},
		{"npm run dev", "review-1", "background", "deny profiles/review/background"},
		{"npm run dev", "review-1", "tty", "deny profiles/bots/tty"},
	} {
		words := strings.Fields(c.line)
		q := language.Query{
			Program: words[0], Args: language.Args{Words: words[1:]}, Who: language.Who{Agent: c.agent},
			Background: strings.Contains(c.manner, "background"), Terminal: strings.Contains(c.manner, "tty"),
		}
		v := p.Judge(q, language.Lexical())[0]
		if got := v.Effect.String() + " " + v.Rule; got != c.want {
			t.Errorf("%s (%s) %s: %s, want %s", c.line, c.agent, c.manner, got, c.want)
		}
		if v.Effect == language.Deny && (!v.At.Set() || !strings.Contains(v.Msg, "which is denied")) {
			t.Errorf("%s: %+v", c.line, v)
		}
	}
	if v := p.CallerDenies(language.Who{Agent: "review-1"}, true, true); len(v) != 2 {
		t.Errorf("a script of a reviewer: %+v", v)
	}
	if v := p.CallerDenies(language.Who{}, true, true); len(v) != 0 {
		t.Errorf("a script of anybody: %+v", v)
	}
}

func TestTheLifeOfACommandInTheBackgroundIsBoundedByMaxTimeoutUnlessTheFileSaysMore(t *testing.T) {
	p := loaded(t, manners)
	for _, c := range []struct {
		program, agent string
		at             int
		life           time.Duration
	}{
		{"ls", "", 6, 2 * time.Hour}, // a policy that was written before there was a background keeps its word
		{"npm", "", 2, 2 * time.Hour},
		{"npm", "review-1", 2, 5 * time.Minute},
	} {
		b := p.Bounds(c.program, language.Who{Agent: c.agent})
		if b.Background != c.at || b.BackgroundTime != c.life {
			t.Errorf("%s of %q: %d at once, for %v", c.program, c.agent, b.Background, b.BackgroundTime)
		}
	}
	p = loaded(t, "version: 1\nlimits: {max_timeout: 10m, background_time: 8h}\ncommands: {npm: {allow: ['*']}}\n")
	if b := p.Bounds("npm", language.Who{}); b.BackgroundTime != 8*time.Hour || b.MaxTimeout != 10*time.Minute {
		t.Errorf("the file's own word: %+v", b)
	}
}
