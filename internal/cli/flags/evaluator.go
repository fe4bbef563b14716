package flags

import (
	"log/slog"

	"tipstaff/internal/server"
)

// Evaluator returns what a server with these settings would decide by.
func Evaluator(c *Config) (*server.Evaluator, error) {
	s, err := c.Settings()
	if err != nil {
		return nil, err
	}
	return server.NewEvaluator(s, slog.New(slog.DiscardHandler))
}
