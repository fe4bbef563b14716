package ipc

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// ends returns both ends of a socket.
func ends(t *testing.T) (server, script *Conn) {
	t.Helper()
	server, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	script = &Conn{file: file, most: maxAsked, take: maxMessage}
	t.Cleanup(func() { _, _ = server.Close(), script.Close() })
	return server, script
}

func TestDescriptorsStayWithTheirMessage(t *testing.T) {
	server, script := ends(t)
	const messages = 50
	sent := make(chan error, 1)
	go func() {
		for i := range messages {
			r, w, err := os.Pipe()
			if err == nil {
				_, err = w.WriteString(strings.Repeat("x", i+1))
			}
			if err == nil {
				// Long, so that the socket does not take it whole.
				err = script.Send(Message{Kind: Ask, ID: uint64(i + 1), Text: strings.Repeat("t", i*20_000)}, int(r.Fd()))
			}
			if err == nil {
				err = errors.Join(r.Close(), w.Close())
			}
			if err != nil {
				sent <- err
				return
			}
		}
		sent <- script.Close()
	}()
	for i := range messages {
		m, files, err := server.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.ID != uint64(i+1) || len(m.Text) != i*20_000 || len(files) != 1 {
			t.Fatalf("message %d: %d, %d bytes, %d files", i+1, m.ID, len(m.Text), len(files))
		}
		if b, err := io.ReadAll(files[0]); len(b) != i+1 || err != nil {
			t.Errorf("message %d came with the pipe of %d: %v", i+1, len(b), err)
		}
		CloseAll(files)
	}
	if _, _, err := server.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("the end gave %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestTooMuchIsRefusedOnBothSides(t *testing.T) {
	server, script := ends(t)
	if err := script.Send(Message{Kind: Ask}, make([]int, maxDescriptors+1)...); err == nil {
		t.Error("too many descriptors were sent")
	}
	if err := script.Send(Message{Kind: Ask, Text: strings.Repeat("x", maxAsked)}); err == nil {
		t.Error("too long a message was sent")
	}
	if err := script.Send(Message{Kind: Ask, Words: make([]string, maxAsked/perText)}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("too many words were sent: %v", err)
	}
	if _, err := script.file.Write([]byte{0xff, 0xff, 0xff, 0x7f}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := server.Receive(); !errors.Is(err, errMalformed) {
		t.Errorf("a length of 2 GiB gave %v", err)
	}
}

// A message that has been sent whole is sent, even if the other end has read it
// and left before Send returns.
func TestAMessageThatEndsTheOtherSideIsSent(t *testing.T) {
	for range 200 {
		server, script := ends(t)
		left := make(chan error, 1)
		go func() {
			_, files, err := script.Receive()
			CloseAll(files)
			left <- errors.Join(err, script.Close())
		}()
		null, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Send(Message{Kind: Script, Text: "exit"}, int(null.Fd())); err != nil {
			t.Error(err)
		}
		if err := errors.Join(<-left, null.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
