//go:build embednats

package natsx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Embedded reports whether this build has a NATS server in it.
const Embedded = true

// startTime is how long a server may take until it accepts connections: it reads
// its streams first.
const startTime = time.Minute

// Serve runs a NATS server by a configuration file, until the context ends. ready
// is called with its address when it accepts connections.
func Serve(ctx context.Context, file string, log *slog.Logger, ready func(address string)) error {
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		return fmt.Errorf("cannot use the configuration of the engine: %w", err)
	}
	opts.NoSigs, opts.NoLog = true, false
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("cannot make the engine's server: %w", err)
	}
	srv.SetLoggerV2(serverLog{log}, false, false, false)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		srv.Start()
		srv.WaitForShutdown()
	}()
	defer func() {
		srv.Shutdown()
		<-ended
	}()
	if !srv.ReadyForConnections(startTime) {
		return errors.New("the engine's server does not accept connections: its log says why")
	}
	ready(srv.ClientURL())
	select {
	case <-ctx.Done():
		return nil
	case <-ended:
		return errors.New("the engine's server has ended: its log says why")
	}
}

// serverLog hands the server's log on.
type serverLog struct{ log *slog.Logger }

func (l serverLog) say(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, "the engine's server says", "text", fmt.Sprintf(format, v...))
}

func (l serverLog) Noticef(format string, v ...any) { l.say(slog.LevelInfo, format, v) }
func (l serverLog) Warnf(format string, v ...any)   { l.say(slog.LevelWarn, format, v) }
func (l serverLog) Fatalf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l serverLog) Errorf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l serverLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l serverLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
