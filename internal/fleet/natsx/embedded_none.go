//go:build !embednats

package natsx

import (
	"context"
	"errors"
	"log/slog"
)

// Embedded reports whether this build has a NATS server in it.
const Embedded = false

// Serve says that this build has no server in it.
func Serve(_ context.Context, file string, _ *slog.Logger, _ func(address string)) error {
	return errors.New("this build has no NATS server in it: run one with \"nats-server --config " + file + "\", or build tipstaff with: go build -tags embednats ./cmd/tipstaff")
}
