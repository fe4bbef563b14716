//go:build embednats

package natsx_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/fleet/natsx"
)

func TestTheEmbeddedServerRunsByItsConfiguration(t *testing.T) {
	t.Parallel()
	seed, public := seedFile(t)
	text, err := natsx.ServerConfig{Listen: "127.0.0.1:-1", Store: t.TempDir(), Members: []natsx.Member{{Roles: []natsx.Role{natsx.Gateway}, Name: "g1", Key: public}}}.Text()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	ctx, cancel := context.WithCancel(t.Context())
	address, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- natsx.Serve(ctx, file, log, func(a string) { address <- a }) }()
	c, err := natsx.Connect(t.Context(), natsx.Options{Servers: []string{<-address}, Role: natsx.Gateway, Name: "g1", Credentials: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.MakeStreams(within(t), 0); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := natsx.Serve(t.Context(), file+".none", log, nil); err == nil || !strings.Contains(err.Error(), "cannot use the configuration") {
		t.Errorf("without a file: %v", err)
	}
}
