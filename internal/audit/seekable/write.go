package seekable

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Write packs everything that in holds.
func Write(out io.Writer, in io.Reader) error {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("cannot compress: %w", err)
	}
	defer func() { _ = encoder.Close() }()
	content := make([]byte, FrameBytes)
	var frames []frame
	var packed []byte
	for {
		n, err := io.ReadFull(in, content)
		if n > 0 {
			packed = encoder.EncodeAll(content[:n], packed[:0])
			if _, err := out.Write(packed); err != nil {
				return err
			}
			frames = append(frames, frame{uint32(len(packed)), uint32(n)})
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			_, err := out.Write(appendTable(nil, frames))
			return err
		case err != nil:
			return err
		case len(frames) == maxFrames:
			return errors.New("cannot compress: the file is too large")
		}
	}
}
