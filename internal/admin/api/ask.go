package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"tipstaff/internal/strictjson"
)

// askWithin sends one request to a server and returns its reply, within a time.
func askWithin(ctx context.Context, dir, name string, r request, patience time.Duration) (reply, error) {
	conn, err := dial(dir, name)
	if err != nil {
		return reply{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() { stop(); _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	// A server that refuses the caller replies with the reason and closes,
	// without reading.
	writeErr := send(conn, r)
	line, err := readLine(bufio.NewReader(conn), maxReply)
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		return reply{}, fmt.Errorf("it has said nothing for %s", patience)
	}
	if err != nil && ctx.Err() != nil {
		return reply{}, context.Cause(ctx)
	}
	if err != nil {
		return reply{}, fmt.Errorf("cannot hear the server: %w", errors.Join(err, writeErr))
	}
	var out reply
	if err := strictjson.Unmarshal(line, &out); err != nil {
		return reply{}, fmt.Errorf("cannot understand the server: %w", err)
	}
	return out, out.err()
}

func send(conn net.Conn, r request) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(data, '\n'))
	return err
}

// readLine reads one line of at most most bytes.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, fmt.Errorf("a line of more than %d bytes", most)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}
