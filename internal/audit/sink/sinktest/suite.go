package sinktest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/audit/events"
	"tipstaff/internal/audit/sink"
)

// Mode is how a peer behaves.
type Mode int

// The modes. A sink is tested only in the modes that its peer supports.
const (
	Well    Mode = iota
	Hang         // accepts connections, reads nothing, answers nothing
	Slow         // does everything slowly
	Garbage      // answers 500, or with data that is not an answer
	Reset        // closes every connection
	Down         // does not listen
)

// Peer receives what a sink sends. It ends with the test.
type Peer interface {
	// Behave changes the mode, also for connections that hang now.
	Behave(m Mode)
	// Bodies returns the bodies of the messages that arrived, in order.
	Bodies() []string
}

// Main is for TestMain: it runs the tests side by side, because most of their time is
// waiting, and fails if goroutines of a sink still run after them.
func Main(m *testing.M) int {
	if err := flag.Set("test.parallel", "8"); err != nil { // -parallel overrides it
		panic(err)
	}
	code := m.Run()
	for limit := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		buf := make([]byte, 1<<20)
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "tipstaff/internal/audit/sink.") {
			return code
		}
		if time.Now().After(limit) {
			fmt.Println("goroutines of a sink still run after the tests:", stacks)
			return 1
		}
	}
}

// Suite is a sink with its peer.
type Suite struct {
	// Start starts a peer that behaves well, and a sink to it.
	Start func(t *testing.T) (sink.Sink, Peer)
	// Modes are the modes that the peer supports in addition to Well.
	Modes []Mode
	// Deaf: the sink cannot detect what arrived, so messages to an absent peer
	// may be lost without being reported.
	Deaf bool
	// Many is a number of messages that the peer certainly accepts in mode
	// Well; 0: 2000.
	Many int
}

// Run runs the suite, beside others but for what measures memory.
func (s Suite) Run(t *testing.T) {
	if s.Many == 0 {
		s.Many = 2000
	}
	if slices.Contains(s.Modes, Hang) {
		t.Run("a flood is kept in bounded memory and what is lost is told", s.flood)
	}
	t.Parallel()
	t.Run("when all is well each message arrives once and in order", s.allWell)
	for _, m := range s.Modes {
		switch m {
		case Hang:
			t.Run("a peer that hangs delays no command", s.hang)
		case Slow:
			t.Run("a slow peer gets everything or is told what it missed", s.slow)
		case Garbage, Reset, Down:
			t.Run(fmt.Sprintf("after trouble of the kind %d everything arrives", m), func(t *testing.T) { s.trouble(t, m) })
		}
	}
}

// patience bounds waiting for events that are expected soon.
const patience = 45 * time.Second

// closeTime says whether a sink holds up the server's end. How long that waits, to the
// moment, is tested by a clock of its own; a busy machine takes longer.
const closeTime = 20 * time.Second

// bench is a running set of one sink.
type bench struct {
	t    *testing.T
	bus  *events.Bus
	set  *sink.Set
	peer Peer
	log  *buffer
	seq  uint64
	want []string // bodies of records
}

func (s Suite) start(t *testing.T) *bench {
	t.Helper()
	one, peer := s.Start(t)
	b := &bench{t: t, bus: &events.Bus{}, peer: peer, log: &buffer{}}
	b.set = sink.Start(b.bus, []sink.Sink{one}, slog.New(slog.NewJSONHandler(b.log, nil)))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log:\n%.4000s", b.log.String())
		}
	})
	return b
}

// publish publishes n records.
func (b *bench) publish(n int) {
	for range n {
		b.seq++
		line := fmt.Sprintf(`{"v":1,"seq":%d,"time":"2026-01-01T00:00:00.000000000Z","event":"command.end","name":"terminal:command:executed","trace":{"command_id":"cmd_%d"},"what":{"argv":["ü","]\\\"",%q]}}`, b.seq, b.seq, strings.Repeat("x", 200))
		b.want = append(b.want, line)
		b.bus.Publish(events.Event{Kind: events.Record, Trail: "the-trail", Seq: b.seq, Data: []byte(line)})
	}
}

func (b *bench) checkpoint() {
	b.bus.Publish(events.Event{Kind: events.Checkpoint, Trail: "the-trail", Data: []byte("tipstaff-audit/the-trail\n1\nroot\n\n— sig\n")})
}

func (b *bench) close() {
	b.t.Helper()
	began := time.Now()
	b.set.Close()
	if d := time.Since(began); d > closeTime {
		b.t.Errorf("the end took %v", d)
	}
}

// eventually waits for a condition.
func (b *bench) eventually(what string, is func() bool) {
	b.t.Helper()
	for limit := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			b.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func (s Suite) allWell(t *testing.T) {
	b := s.start(t)
	b.checkpoint()
	for sent := 0; sent < s.Many; sent += 100 {
		b.publish(100)
		b.eventually("the peer has them", func() bool { return len(b.peer.Bodies()) >= sent+101 })
	}
	b.checkpoint()
	b.close()
	b.eventually("the last checkpoint has arrived", func() bool { return len(b.peer.Bodies()) >= len(b.want)+2 })
	got := b.peer.Bodies()
	if len(got) != len(b.want)+2 {
		t.Fatalf("%d messages arrived of %d", len(got), len(b.want)+2)
	}
	for _, i := range []int{0, len(got) - 1} {
		if e := parse(t, got[i]); e.Event != "checkpoint" || e.Trail != "the-trail" || !strings.Contains(e.Note, "— sig") {
			t.Errorf("the checkpoint is %s", got[i])
		}
	}
	for i, want := range b.want {
		if got[i+1] != want {
			t.Fatalf("message %d is\n%s, want\n%s", i, got[i+1], want)
		}
	}
}

func (s Suite) hang(t *testing.T) {
	b := s.start(t)
	b.peer.Behave(Hang)
	began := time.Now()
	b.publish(20_000)
	if d := time.Since(began); d > patience {
		t.Errorf("to publish took %v", d)
	}
	b.close()
	if text := b.log.String(); !strings.Contains(text, "records") {
		t.Errorf("the loss was not reported: %s", text)
	}
	b.peer.Behave(Well)
}

func (s Suite) slow(t *testing.T) {
	b := s.start(t)
	b.peer.Behave(Slow)
	b.publish(300)
	b.complete(s.Deaf)
	b.close()
}

func (s Suite) trouble(t *testing.T, m Mode) {
	b := s.start(t)
	b.publish(50)
	b.eventually("the first have arrived", func() bool { return len(b.peer.Bodies()) >= 50 })
	b.peer.Behave(m)
	b.publish(50)
	b.eventually("the trouble is noticed", func() bool {
		if !s.Deaf || strings.Contains(b.log.String(), "cannot deliver") {
			return strings.Contains(b.log.String(), "cannot deliver")
		}
		b.publish(1) // after several writes it notices the broken connection
		return false
	})
	b.peer.Behave(Well)
	b.publish(50)
	b.complete(s.Deaf)
	b.close()
}

func (s Suite) flood(t *testing.T) {
	b := s.start(t)
	b.peer.Behave(Hang)
	used := heap()
	const many = 100_000
	for range many {
		b.seq++
		b.bus.Publish(events.Event{Kind: events.Record, Trail: "the-trail", Seq: b.seq, Data: fmt.Appendf(nil, `{"v":1,"seq":%d,"event":"command.end"}`, b.seq)})
	}
	if more := int64(heap()) - int64(used); more > 32<<20 {
		t.Errorf("%d MiB are held for %d records", more>>20, many)
	}
	b.peer.Behave(Well)
	b.publish(1)
	b.complete(s.Deaf)
	b.close()
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// complete waits until every record has arrived or is reported as lost. Records
// may arrive twice; none may arrive late.
func (b *bench) complete(deaf bool) {
	b.t.Helper()
	b.eventually("everything has arrived or is told to be lost", func() bool {
		time.Sleep(20 * time.Millisecond) // each check copies all of it
		all := b.peer.Bodies()
		if len(all) == 0 {
			return false
		}
		e := parse(b.t, all[len(all)-1])
		return max(e.Seq, e.To) >= b.seq
	})
	if missing, _ := b.account(deaf); missing > 0 && !deaf {
		b.t.Errorf("%d records did not arrive, and no loss was reported", missing)
	}
}

// account compares what arrived with what was published.
func (b *bench) account(deaf bool) (missing, last uint64) {
	known := make([]bool, b.seq+1)
	for _, body := range b.peer.Bodies() {
		e := parse(b.t, body)
		from, to := e.Seq, e.Seq
		if e.Event == "sink.lost" {
			from, to = e.From, e.To
			if e.Count != e.To-e.From+1 {
				b.t.Errorf("the loss counts wrong: %s", body)
			}
		}
		if from > last+1 && !deaf {
			b.t.Fatalf("after %d comes %d", last, from)
		}
		for i := from; i <= to && i <= b.seq; i++ {
			known[i] = true
		}
		last = max(last, to)
	}
	for i := uint64(1); i <= last; i++ {
		if !known[i] {
			missing++
		}
	}
	return missing, last
}

type body struct {
	Event, Trail, Note string
	Seq, Count         uint64
	From               uint64 `json:"from_seq"`
	To                 uint64 `json:"to_seq"`
}

func parse(t *testing.T, text string) (e body) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("a message is no JSON: %v\n%s", err, text)
	}
	return e
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
