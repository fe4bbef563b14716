//go:build linux

package bench

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/facts"
	"tipstaff/internal/proc"
	"tipstaff/internal/redact"
	"tipstaff/internal/run"
	"tipstaff/internal/sandbox"
)

// nowhere is a trail that discards all records: the cost of the record is
// measured against it. No setting selects it.
type nowhere struct{}

func (nowhere) Append(audit.Record) error { return nil }

// plainSync writes a line for every record and syncs that of a start: it
// measures the cost of one sync on this machine in the same place.
type plainSync struct{ f *os.File }

func (p plainSync) Append(r audit.Record) error {
	_, err := p.f.Write(make([]byte, 700))
	if r.Event == audit.CommandStart {
		err = errors.Join(err, p.f.Sync())
	}
	return err
}

func newPlainSync(b *testing.B) plainSync {
	b.Helper()
	f, err := os.CreateTemp(b.TempDir(), "sync")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return plainSync{f}
}

// recording serves the protocol over pipes with the given trail, and returns a
// function that measures a call.
func recording(b *testing.B, trail monitor.Trail) func() time.Duration {
	b.Helper()
	engine, err := proc.NewEngine(proc.Options{})
	if err != nil {
		b.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{Engine: engine, Mode: sandbox.Off, Network: sandbox.Network{Reach: sandbox.AllNetwork}})
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	world := facts.New(facts.Options{Path: os.Getenv("PATH"), AllowedCommands: policy.ParseAllowlist("*", "ALLOWED_COMMANDS"), Log: log})
	front := mcpserver.NewServer(mcpserver.Options{Version: "bench", Log: log, Monitor: &monitor.Monitor{
		Policy: policy.New(policy.Settings{
			Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: time.Minute, OutputBytes: 1 << 20}},
			Environment: policy.NewEnvironment(os.Environ(), world.SearchPath().String()),
		}),
		World: world, Trail: trail, Runner: run.NewWithSlots(run.Local{Engine: engine, Sandbox: box}, 32), Log: log,
	}})
	fromClient, toServer, err1 := os.Pipe()
	fromServer, toClient, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	served := make(chan error, 1)
	go func() { served <- front.ServeStdio(context.Background(), fromClient, toClient); _ = toClient.Close() }()
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = session.Close()
		_ = toServer.Close()
		if err := <-served; err != nil {
			b.Error(err)
		}
		if err := engine.Close(); err != nil {
			b.Error(err)
		}
	})
	return func() time.Duration {
		began := time.Now()
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "execute_process", Arguments: map[string]any{"file": "true"}})
		took := time.Since(began)
		if err != nil || res.IsError || !strings.HasPrefix(res.Content[0].(*mcp.TextContent).Text, "exit_code: 0") {
			b.Errorf("%v %+v", err, res)
		}
		return took
	}
}

func newBenchTrail(b *testing.B, d audit.Durability) *audit.Trail {
	b.Helper()
	trail, err := audit.Create(b.TempDir(), audit.Options{Redactor: redact.New(nil), OSUser: "bench", Durability: d})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := trail.Close(); err != nil {
			b.Error(err)
		}
	})
	return trail
}

// BenchmarkTrail: a call with the record on, against the same server with a
// trail that discards records, and strict against a trail that syncs a plain
// file; the records are on the machine's disk. Budgets: interval at most 1.05
// ×, strict one sync more.
func BenchmarkTrail(b *testing.B) {
	b.Run("interval", func(b *testing.B) {
		turns(b, inRow, recording(b, newBenchTrail(b, audit.Interval)), recording(b, nowhere{}))
	})
	b.Run("strict", func(b *testing.B) {
		turns(b, inRow, recording(b, newBenchTrail(b, audit.Strict)), recording(b, newPlainSync(b)))
	})
}

// BenchmarkTrailStrict16: 160 calls, 16 in flight, strict against interval.
// Budget: at least 0.9 × its throughput.
func BenchmarkTrailStrict16(b *testing.B) {
	strict, interval := recording(b, newBenchTrail(b, audit.Strict)), recording(b, newBenchTrail(b, audit.Interval))
	compareBursts(b, "calls/s",
		contender(func() { strict() }),
		contender(func() { interval() }))
}
