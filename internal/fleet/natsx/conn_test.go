package natsx_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

// within is a bound for what takes milliseconds.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// waited waits in vain for so long, and again until it is told what is wanted: a busy
// machine may not have tried to connect by then.
func waited(t *testing.T, c *natsx.Conn, each time.Duration, want string) error {
	t.Helper()
	for limit := within(t); ; {
		ctx, cancel := context.WithTimeout(limit, each)
		err := c.Wait(ctx)
		cancel()
		if err == nil || strings.Contains(err.Error(), want) || limit.Err() != nil {
			return err
		}
	}
}

func member(name string) natsx.Address {
	return natsx.Address{Name: name, InstanceID: natsx.NewInstanceID()}
}

func TestARunnersAnswerArrivesUnderItsName(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	gateway, runner := s.Connect(natsx.Gateway, "g1"), s.Connect(natsx.Runner, "r1")
	g, r := member("g1"), member("r1")

	if _, err := runner.Subscribe(r.Asks(">"), func(m natsx.Message) {
		if err := runner.Publish(m.Reply, "", append([]byte("ran "), m.Data...)); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	answers := make(chan natsx.Message, 1)
	if _, err := gateway.Subscribe(g.AllAnswers(), func(m natsx.Message) { answers <- m }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*natsx.Conn{runner, gateway} {
		if err := c.Flush(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := gateway.Publish(r.Asks("call"), g.Answers(r, "c1"), []byte("ls")); err != nil {
		t.Fatal(err)
	}
	m := <-answers
	from, token, err := natsx.ParseAnswer(m.Subject)
	if err != nil || from != r || token != "c1" || string(m.Data) != "ran ls" || m.Nobody {
		t.Errorf("got %q from %v for %q, nobody %v: %v", m.Data, from, token, m.Nobody, err)
	}

	other := member("r2")
	if err := gateway.Publish(other.Asks("call"), g.Answers(other, "c2"), []byte("ls")); err != nil {
		t.Fatal(err)
	}
	if m := <-answers; !m.Nobody || m.Subject != g.Answers(other, "c2") {
		t.Errorf("a runner that is not there: got %+v", m)
	}
}

func TestNothingIsSentLater(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	from, to := s.Connect(natsx.Gateway, "g1"), s.Connect(natsx.Runner, "r1")
	got := make(chan string, 8)
	if _, err := to.Subscribe("tip1.r.r1.>", func(m natsx.Message) { got <- string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	for {
		changed := from.Changed() // before the look, so that nothing is missed
		if from.State() != nil {
			break
		}
		<-changed
	}
	err := from.Publish("tip1.r.r1.call", "", []byte("during the break"))
	if !errors.Is(err, natsx.ErrUnavailable) {
		t.Errorf("sent during a break: %v", err)
	}
	if err := from.State(); !errors.Is(err, natsx.ErrUnavailable) || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("the state must name the address and the reason: %v", err)
	}
	s.Start()
	for _, c := range []*natsx.Conn{to, from} {
		if err := c.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := from.Publish("tip1.r.r1.call", "", []byte("after")); err != nil {
		t.Fatal(err)
	}
	if first := <-got; first != "after" {
		t.Errorf("the first message after the break is %q", first)
	}
}

func TestAnEngineThatComesLaterIsFound(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	url := s.URL()
	s.Stop()
	c, err := natsx.Connect(t.Context(), natsx.Options{Servers: []string{url}, Role: natsx.Runner, Name: "r1"})
	if err != nil {
		t.Fatalf("an engine that is not there yet is no fault of the options: %v", err)
	}
	defer c.Close()
	if err := waited(t, c, time.Second, "refused"); !errors.Is(err, natsx.ErrUnavailable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("waiting for an engine that is not there: %v", err)
	}
	s.Start()
	if err := c.Wait(within(t)); err != nil {
		t.Error(err)
	}
}

func TestAMessageThatIsTooLargeIsRefusedByName(t *testing.T) {
	t.Parallel()
	c := enginetest.Start(t).Connect(natsx.Gateway, "g1")
	if err := c.Publish("tip1.r.x.y.call", "", make([]byte, c.MaxPayload()+1)); !errors.Is(err, natsx.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsThatCannotWorkAreToldAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := natsx.Options{Servers: []string{"nats://127.0.0.1:1"}, Role: natsx.Runner, Name: "r1"}
	for name, tt := range map[string]struct {
		change func(o *natsx.Options)
		want   string
	}{
		"no server":                  {func(o *natsx.Options) { o.Servers = nil }, "no address of the engine"},
		"a scheme of something else": {func(o *natsx.Options) { o.Servers = []string{"http://h:1"} }, "is no address of the engine"},
		"a password in the address":  {func(o *natsx.Options) { o.Servers = []string{"nats://u:geheim@h:1"} }, "TIPSTAFF_ENGINE_CREDENTIALS"},
		"no role":                    {func(o *natsx.Options) { o.Role = "" }, "no role"},
		"a name with a dot":          {func(o *natsx.Options) { o.Name = "a.b" }, "1 to 63 characters"},
		"a name with a wildcard":     {func(o *natsx.Options) { o.Name = "*" }, "1 to 63 characters"},
		"a key that is not there":    {func(o *natsx.Options) { o.Credentials = dir + "/none" }, "cannot read the key"},
		"a key that is none":         {func(o *natsx.Options) { o.Credentials = write("bad", "SUGEHEIM\n") }, "no seed"},
		"an empty key":               {func(o *natsx.Options) { o.Credentials = write("empty", "# only this\n") }, "it is empty"},
		"authorities that are none":  {func(o *natsx.Options) { o.CA = write("ca", "x") }, "holds no certificate"},
		"a certificate without key":  {func(o *natsx.Options) { o.Cert = "c" }, "needs its key"},
	} {
		o := good
		tt.change(&o)
		c, err := natsx.Connect(t.Context(), o)
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(strings.ToUpper(err.Error()), "GEHEIM") {
			t.Errorf("%s: got %v, want %q and no secret", name, err, tt.want)
		}
	}
}
