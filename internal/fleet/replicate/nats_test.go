package replicate_test

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
	"tipstaff/internal/fleet/replicate"
)

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// started starts a server with the streams.
func started(t *testing.T) (*enginetest.Server, *natsx.Conn) {
	t.Helper()
	s := enginetest.Start(t)
	g := s.Connect(natsx.Gateway, "g1")
	if err := g.MakeStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	return s, g
}

func TestAnEngineThatGoesAwayAndComesBackGetsEveryRecordOnce(t *testing.T) {
	t.Parallel()
	s, g := started(t)
	dir := t.TempDir()
	p := begin(t, dir, s.Connect(natsx.Runner, "r1"), replicate.Options{Strict: true})
	p.write(150)
	if err := p.shipper.Confirm(); err != nil {
		t.Fatal(err)
	}
	for what, fault := range map[string]struct{ stop, start func() }{
		"the server": {s.Stop, s.Start},
		"JetStream":  {s.StopJetStream, s.StartJetStream},
	} {
		fault.stop()
		p.write(150)
		p.shipper.Checkpoint()
		failures := p.shipper.Status().Failures
		p.until("a failure without "+what, func(st replicate.Status) bool {
			return st.Failures["unreachable"]+st.Failures["unanswered"]+st.Failures["no_stream"] > failures["unreachable"]+failures["unanswered"]+failures["no_stream"]
		})
		fault.start()
		p.until("all copied", func(st replicate.Status) bool { return st.Copied >= st.Written-100 })
	}
	// A process that dies while the engine is away leaves the rest to the next.
	s.Stop()
	p.write(40)
	p.die()
	s.Start()
	if err := g.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	next := begin(t, dir, s.Connect(natsx.Runner, "r1"), replicate.Options{})
	next.write(1)
	next.untilCopied(p.trail.Path())
	if err := next.end(); err != nil {
		t.Fatal(err)
	}
	same := func(path string) {
		t.Helper()
		copies, err := replicate.ReadCopies(within(t), g, "r1")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []audit.Files{{}, {In: copies}} {
			at := path
			if f.In != nil {
				at = "r1/" + filepath.Base(path)
			}
			report, err := f.Verify(at, audit.VerifyOptions{})
			if err != nil || report.Status() != audit.OK || !report.Trails[0].Closed {
				t.Errorf("%s: %+v, %v", at, report, err)
			}
		}
	}
	same(p.trail.Path())
	same(next.trail.Path())
}

// cutter passes bytes between a client and a server, and cuts the connection
// behind a batch that it has just passed on, before the acknowledgement.
type cutter struct {
	listener net.Listener
	server   string
	armed    atomic.Bool
	cuts     atomic.Int64
	tasks    sync.WaitGroup
}

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l, server: strings.TrimPrefix(server, "nats://")}
	c.tasks.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			c.tasks.Go(func() { c.pass(client) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.tasks.Wait() })
	return c
}

func (c *cutter) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	gagged := make(chan struct{})
	c.tasks.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			select {
			case <-gagged: // the acknowledgement has come as far as here
				c.cuts.Add(1)
				return
			default:
			}
			if _, werr := client.Write(buf[:n]); err != nil || werr != nil {
				return
			}
		}
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if bytes.Contains(buf[:n], []byte("HPUB tip1.a.")) && c.armed.CompareAndSwap(true, false) {
			close(gagged)
		}
		if _, werr := server.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func TestAConnectionThatIsCutBeforeTheAcknowledgementCopiesNothingTwice(t *testing.T) {
	t.Parallel()
	s, g := started(t)
	c := newCutter(t, s.URL())
	conn, err := natsx.Connect(t.Context(), natsx.Options{Servers: []string{"nats://" + c.listener.Addr().String()}, Role: natsx.Runner, Name: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	p := begin(t, t.TempDir(), conn, replicate.Options{Strict: true, Patience: 20 * time.Second})
	const cuts = 2
	for i := range int64(cuts) {
		c.armed.Store(true)
		p.write(30)
		if err := p.shipper.Confirm(); err != nil {
			t.Fatal(err)
		}
		if c.cuts.Load() != i+1 {
			t.Errorf("%d cuts", c.cuts.Load())
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	same(t, g, p.trail.Path())
}

func TestAnAlteredMessageOfARealStreamIsFound(t *testing.T) {
	t.Parallel()
	_, from := started(t)
	_, to := started(t)
	p := begin(t, t.TempDir(), from, replicate.Options{Strict: true})
	for range 4 {
		p.write(20)
		if err := p.shipper.Confirm(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	same(t, from, p.trail.Path())
	// Another engine gets the same messages, one of them altered. A busy machine makes more
	// of them than there were pauses.
	source := replicate.Source{Name: "r1", Trail: filepath.Base(p.trail.Path())}
	var after uint64
	n, before := 0, -1 // messages with records; the records before the altered one
	records := 0
	if _, err := from.ListCopies(within(t), source.Stream(), source.Subject(), 0, func(m natsx.StoredCopy) error {
		whole, err := from.GetCopy(within(t), source.Stream(), m.Sequence)
		if err != nil {
			return err
		}
		echoes := bytes.Count(whole.Data, []byte(`"echo"`))
		if echoes > 0 {
			n++
		}
		if n == 3 && before < 0 {
			before = records
			whole.Data = bytes.Replace(whole.Data, []byte(`"echo"`), []byte(`"true"`), 1)
		}
		records += echoes
		after, err = to.AppendCopy(within(t), natsx.Copy{Stream: source.Stream(), Subject: m.Subject, ID: m.Header, After: after, Header: m.Header, Data: whole.Data})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	copied, own := verified(t, to, p.trail.Path())
	if own.Status != audit.OK || copied.Fault == nil || copied.Fault.Reason != audit.Altered || before <= 0 || copied.Records != uint64(before) {
		t.Errorf("the copy: %+v (%v)\nthe trail: %+v", copied, copied.Fault, own)
	}
}
