package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Endpoint serves metrics over HTTP at /metrics. At /healthz it reports whether
// commands can be recorded, without which none starts. The caller closes it.
type Endpoint struct {
	listener net.Listener
	server   *http.Server
	done     chan struct{}
}

// Listen listens on an address that [Address] has completed. Requests are
// answered once Serve is called.
func Listen(ctx context.Context, address string) (*Endpoint, error) {
	network := "tcp"
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Is4() {
		network = "tcp4" // otherwise 0.0.0.0 would be IPv6, too
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &Endpoint{listener: l, done: make(chan struct{})}, nil
}

// URL returns the address of the metrics.
func (e *Endpoint) URL() string { return fmt.Sprintf("http://%s/metrics", e.listener.Addr()) }

// Local reports whether the endpoint can only be reached from this machine.
func (e *Endpoint) Local() bool { return loopback(e.listener.Addr()) }

// Serve answers requests with the values of m until Close. Call it once.
func (e *Endpoint) Serve(m *Metrics, log *slog.Logger) {
	handler := m.handler(log)
	if e.Local() {
		handler = ownName(handler)
	}
	e.server = &http.Server{
		Handler: handler, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	go func() {
		defer close(e.done)
		if err := e.server.Serve(e.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics can no longer be read", "error", err)
		}
	}()
}

// Close stops listening, and aborts requests in progress.
func (e *Endpoint) Close() error {
	if e.server == nil {
		return e.listener.Close()
	}
	err := e.server.Close()
	<-e.done
	return err
}

// Handler returns a handler for requests of metrics. It does not authenticate
// them.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapesAtOnce, EnableOpenMetrics: true, ErrorLog: scrapeLog{log},
	})
}

// scrapesAtOnce bounds the load of concurrent requests.
const scrapesAtOnce = 4

func (m *Metrics) handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler(log))
	mux.HandleFunc("GET /healthz", m.health)
	return mux
}

// health fails if the last record could not be written: the server then runs,
// but refuses every command.
func (m *Metrics) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "ok\n"
	if m.unrecorded.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "the audit trail cannot be written: commands are refused\n"
	}
	_, _ = io.WriteString(w, text)
}

// scrapeLog writes errors of promhttp to the server's log.
type scrapeLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) { l.log.Warn("cannot answer a scrape", "error", fmt.Sprint(v...)) }
