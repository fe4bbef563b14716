package natsx_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tipstaff/internal/fleet/natsx"
)

// tap hears everything in one account, and may send anything there.
type tap struct {
	nc   *nats.Conn
	mu   sync.Mutex
	seen map[string]bool // subjects
}

// tapped adds a user without bounds to each account of a configuration, and to that of all
// where members have one together.
func tapped(t *testing.T, c natsx.ServerConfig, text string) (with string, files map[string]string) {
	t.Helper()
	files = map[string]string{}
	add := func(account, behind, format string) {
		file, public := seedFile(t)
		if !strings.Contains(text, behind) {
			t.Fatalf("there is no %q in %s", behind, text)
		}
		text = strings.Replace(text, behind, behind+fmt.Sprintf(format, public), 1)
		files[account] = file
	}
	if strings.Contains(text, "authorization { users: [") {
		add("all", "authorization { users: [", "{nkey: %q}")
		return text, files
	}
	for _, a := range c.Accounts() {
		if a.Member == nil {
			add(a.Name, `"`+a.Name+"\": {", "\n    users: [{nkey: %q}]")
		} else {
			add(a.Name, `"`+a.Name+"\": {\n    users: [", "{nkey: %q}")
		}
	}
	return text, files
}

func newTap(t *testing.T, url, file string) *tap {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{seen: map[string]bool{}}
	if p.nc, err = nats.Connect(url, key); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.nc.Close)
	if _, err := p.nc.Subscribe(">", func(m *nats.Msg) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen[m.Subject] = true
	}); err != nil {
		t.Fatal(err)
	}
	p.settle(t)
	return p
}

// settle returns when the tap has heard what was sent so far.
func (p *tap) settle(t *testing.T) {
	t.Helper()
	word := nats.NewInbox()
	sub, err := p.nc.SubscribeSync(word)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe() // ends with the test
	if err := p.nc.Publish(word, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.NextMsgWithContext(within(t)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // the other handler has it, too
		p.mu.Lock()
		heard := p.seen[word]
		p.mu.Unlock()
		if heard {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a tap does not hear itself")
		}
	}
}

// matches reports whether a subject is one of a pattern.
func matches(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, word := range p {
		if word == ">" {
			return len(s) > i
		}
		if i >= len(s) || word != "*" && word != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}

// question is what is asked at a subject that a key may publish to, so that an answer comes.
func question(pattern string) (subject, body string) {
	subject = strings.ReplaceAll(strings.Replace(pattern, "tip1.a.*", "tip1.a.0", 1), "*", "trail")
	rest, direct := strings.CutPrefix(pattern, "$JS.API.DIRECT.GET.")
	stream, of, one := strings.Cut(rest, ".")
	switch {
	case direct && !one:
		return subject, `{"seq":1,"next_by_subj":">"}`
	case direct && of == ">" && stream == "KV_tip1_claims":
		return "$JS.API.DIRECT.GET." + stream + ".$KV.tip1_claims.k", `{"no_hdr":true}`
	case direct && of == ">":
		return "$JS.API.DIRECT.GET." + stream + ".tip1.a." + strings.TrimPrefix(stream, "AUDIT_") + ".r2.trail", `{"no_hdr":true}`
	case direct:
		return subject, `{"no_hdr":true}`
	case strings.HasPrefix(pattern, "$JS.API."), strings.HasPrefix(pattern, "$SYS."):
		return subject, ""
	}
	return subject, "forged"
}

// answered reports whether somebody answers at a subject: the server does.
func answered(pattern string) bool {
	return strings.HasPrefix(pattern, "$") || strings.HasPrefix(pattern, "tip1.a.")
}

// TestNoAnswerGoesWhereItsAskerMayNotSend goes over every subject that the configuration
// allows to each kind of key, and asks there with every subject as its reply that the key
// may not publish to: those of all other members, of the streams, of JetStream. Nobody but
// the asker hears an answer. The control is the configuration without accounts, by which
// each of these subjects answers to where the key may not publish.
func TestNoAnswerGoesWhereItsAskerMayNotSend(t *testing.T) {
	c, keys := members(t)
	text, err := c.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, thief := range []string{"r1", "g2", "p2", "o1"} {
		for name, text := range map[string]string{"with accounts": text, "the control": oneAccount(t, c, true)} {
			t.Run(fmt.Sprintf("%s, %s", roles[thief], name), func(t *testing.T) {
				t.Parallel()
				text, files := tapped(t, c, text)
				f := newFieldOf(t, text, keys, thief)
				f.fill()
				taps := map[string]*tap{}
				for account, file := range files {
					if account != thief { // what is sent there goes no further
						taps[account] = newTap(t, f.server.URL(), file)
					}
				}
				own, targets := f.targets(c, thief)
				asked := 0
				for _, pattern := range own {
					got := f.answersAt(pattern, targets, taps)
					switch control := name == "the control"; {
					case !control && len(got) > 0:
						t.Errorf("%s: its answer is heard at %v", pattern, got)
					case control && answered(pattern) && len(got) == 0:
						t.Errorf("%s: nobody hears an answer", pattern)
					}
					asked += len(targets)
				}
				t.Logf("%d questions, each with a reply that this key may not publish to", asked)
			})
		}
	}
}

// fill leaves something in each stream.
func (f *field) fill() {
	f.t.Helper()
	f.lease(f.runner, "r", f.r)
	f.lease(f.gateway, "g", f.g)
	f.freezes()
	if _, err := f.gateway.Claim(within(f.t), "k", f.r); err != nil {
		f.t.Fatal(err)
	}
	for i := range natsx.CopyStreams {
		if _, err := f.runner.AppendCopy(within(f.t), natsx.Copy{Stream: i, Subject: fmt.Sprintf("tip1.a.%d.r2.trail", i), ID: "1", Data: []byte("a batch")}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// targets are the patterns of the subjects that the thief's key may publish to, and
// subjects that it may not.
func (f *field) targets(c natsx.ServerConfig, thief string) (own, targets []string) {
	all := map[string]bool{
		"$JS.API.STREAM.DELETE.AUDIT_9": true, "$JS.API.STREAM.PURGE.AUDIT_9": true, "$JS.API.CONSUMER.CREATE.AUDIT_9": true, // there is none, or the control would end with it
		"tip1.l.r.r2.x": true, "tip1.i.g.g1.x": true, "tip1.i.r.r2.x": true, "tip1.i.o.p1.x": true,
		f.r.Asks("call"): true, f.g.Answers(f.r, f.token): true, f.peer(natsx.Runner).Hears(): true,
	}
	for _, m := range c.Members {
		if m.Name == thief {
			own = m.Publish()
		}
		for _, s := range m.Publish() {
			all[strings.TrimSuffix(strings.ReplaceAll(s, "*", "x"), ">")+strings.Repeat("x", len(s)-len(strings.TrimSuffix(s, ">")))] = true
		}
	}
	for s := range maps.Keys(all) {
		if !slices.ContainsFunc(own, func(p string) bool { return matches(p, s) }) {
			targets = append(targets, s)
		}
	}
	return own, targets
}

// answersAt asks at a subject with each target as the reply, and for a trace of the message
// to be sent there, and returns the targets at which somebody else hears something.
func (f *field) answersAt(pattern string, targets []string, taps map[string]*tap) (got []string) {
	f.t.Helper()
	subject, body := question(pattern)
	for _, target := range targets {
		for _, m := range []*nats.Msg{
			{Subject: subject, Reply: target, Data: []byte(body)},
			{Subject: subject, Reply: target, Data: []byte(body), Header: nats.Header{"Nats-Trace-Dest": {target}}},
		} {
			if err := f.stolen.PublishMsg(m); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	if answered(pattern) { // one that is answered behind all others
		inbox := f.stolen.NewInbox()
		sub, err := f.stolen.SubscribeSync(inbox)
		if err != nil {
			f.t.Fatal(err)
		}
		defer sub.Unsubscribe() // ends with the test
		if err := f.stolen.PublishRequest(subject, inbox, []byte(body)); err != nil {
			f.t.Fatal(err)
		}
		if _, err := sub.NextMsgWithContext(within(f.t)); err != nil {
			f.t.Fatalf("%s is not answered: %v", subject, err)
		}
	}
	if err := f.stolen.FlushTimeout(20 * time.Second); err != nil {
		f.t.Fatal(err)
	}
	for _, p := range taps {
		p.settle(f.t)
		p.mu.Lock()
		for _, target := range targets {
			if p.seen[target] {
				got = append(got, target)
			}
		}
		clear(p.seen)
		p.mu.Unlock()
	}
	return got
}
