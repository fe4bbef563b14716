package spool

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"tipstaff/internal/redact"
)

// store opens a store in a directory of its own.
func store(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "spool")
	}
	if o.Redactor == nil {
		o.Redactor = redact.New(map[string]string{"API_TOKEN": "SRVSECRET-1234"})
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// model is what an output should hold: every byte with its stream.
type model struct {
	data []byte
	from []Stream
}

func (m *model) write(s Stream, p []byte) {
	m.data = append(m.data, p...)
	m.from = append(m.from, slices.Repeat([]Stream{s}, len(p))...)
}

// text is what a reader of a stream should get between two offsets.
func (m *model) text(from, to int64, s Stream) []byte {
	var out []byte
	for i := from; i < to; i++ {
		if s.has(m.from[i]) {
			out = append(out, m.data[i])
		}
	}
	return out
}

// filled writes pieces of every size to an output and to its model.
func filled(s *Store, r *rand.Rand, size int) (*Output, *model) {
	o, m := s.Begin("cmd_1"), &model{}
	for len(m.data) < size {
		stream := Stdout
		if r.IntN(3) == 0 {
			stream = Stderr
		}
		p := make([]byte, 1+r.IntN(1<<r.IntN(19)))
		for i := range p {
			p[i] = byte('a' + r.IntN(26))
			if r.IntN(20) == 0 {
				p[i] = '\n'
			}
		}
		if r.IntN(10) == 0 {
			for i := range p[:min(len(p), 5000)] { // the streams change all the time
				s := Stdout
				if i%3 > 0 {
					s = Stderr
				}
				o.Write(s, p[i:i+1])
				m.write(s, p[i:i+1])
			}
			continue
		}
		o.Write(stream, p)
		m.write(stream, p)
	}
	return o, m
}

func TestTheLastLinesAreFound(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	for i := range 50_000 {
		o.Write(Stdout, fmt.Appendf(nil, "line %d\n", i))
		if i%10 == 0 {
			o.Write(Stderr, fmt.Appendf(nil, "error %d\n", i))
		}
	}
	o.Write(Stdout, []byte("and on"))
	for _, c := range []struct {
		lines  int
		stream Stream
		want   string
	}{
		{0, Both, ""}, {1, Both, "and on"}, {2, Both, "line 49999\nand on"}, {1, Stderr, "error 49990\n"}, {2, Stderr, "error 49980\nerror 49990\n"},
		{3, Stdout, "line 49998\nline 49999\nand on"},
	} {
		p, err := o.Tail(c.lines, c.stream)
		if err != nil || string(p.Text) != c.want || p.Lost || p.Next != o.Size() {
			t.Errorf("the last %d of %v: %q, %+v, %v", c.lines, c.stream, p.Text, p, err)
		}
	}
	if p, err := o.Tail(1_000_000, Both); err != nil || p.Lost || p.From != 0 || p.Next != o.Size() {
		t.Errorf("all lines: from %d to %d of %d, lost %v, %v", p.From, p.Next, p.Total, p.Lost, err)
	}
}

func TestOneLineOfManyIsFound(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	for i := range 300_000 {
		o.Write(Stdout, fmt.Appendf(nil, "ok   test %d\n", i))
		if i == 123_456 {
			o.Write(Stdout, []byte("FAIL test of "))
			o.Write(Stderr, []byte("noise\n"))
			o.Write(Stdout, []byte("the thing\n"))
		}
	}
	o.End()
	p, err := o.Grep(regexp.MustCompile(`FAIL.*thing$`), 1, 0, 0, Both)
	if want := "noise\nFAIL test of the thing\nok   test 123457\n"; err != nil || string(p.Text) != want || p.Matched != 1 || p.Lost || p.Next != o.Size() {
		t.Errorf("%q, %+v, %v", p.Text, p, err)
	}
}

func TestAfterARestartTheFilesOfTheDeadAreGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	first := store(t, Options{Dir: dir})
	o := first.Begin("cmd_1")
	o.Write(Stdout, bytes.Repeat([]byte("x"), 1<<20))
	second := store(t, Options{Dir: dir})
	if p, err := o.Read(0, 10, Both); err != nil || len(p.Text) != 10 {
		t.Errorf("a living server's file went: %v", err)
	}
	_ = second.Close()
	_ = first.dir.lock.Close() // as when the server dies
	store(t, Options{Dir: dir})
	if left, err := filepath.Glob(dir + "/*/*"); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
}
