package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
)

// keepCheckpoints returns a function that copies checkpoints to another place:
// a file in dir for each trail. A copy that fails is logged, and stops nothing.
func keepCheckpoints(dir string, log *slog.Logger) func(trail string, note []byte) {
	if dir == "" {
		return nil
	}
	return func(trail string, note []byte) {
		f, err := os.OpenFile(filepath.Join(dir, trail+".txt"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err == nil {
			_, err = f.Write(append(slices.Clip(note), '\n'))
			if closed := f.Close(); err == nil {
				err = closed
			}
		}
		if err != nil {
			log.Error("cannot copy a checkpoint of the audit trail", "dir", dir, "error", err)
		}
	}
}
