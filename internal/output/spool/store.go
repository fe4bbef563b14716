package spool

import (
	"container/list"
	"crypto/cipher"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/redact"
)

// The bounds that hold where the Options say nothing.
const (
	// DefaultBytes bounds the file of one command.
	DefaultBytes = 64 << 20
	// DefaultTotalBytes bounds the files of a server.
	DefaultTotalBytes = 1 << 30
	// DefaultKeep is how long an output is kept after its command has ended.
	DefaultKeep = time.Hour
)

// Bounds of what ended outputs may have of the server's memory.
const (
	mostEnded     = 1024
	mostEndedHeld = 4 << 20
)

// Options say where outputs are kept and how much of them.
type Options struct {
	// Dir is the directory of the spools of all servers, created with mode 0700.
	// "": nothing is written to a disk, and of each output only what fits into
	// memory is kept, the first and the last few KiB.
	Dir        string
	MaxBytes   int64         // of the file of one command; 0: DefaultBytes
	TotalBytes int64         // of all files; 0: DefaultTotalBytes
	Keep       time.Duration // 0: DefaultKeep
	Redactor   *redact.Redactor
	Log        *slog.Logger // nil: nothing is logged
}

// Store keeps the outputs of one server. Its methods may be called from several
// goroutines at once.
type Store struct {
	opts  Options
	block cipher.Block
	dir   *serverDir // nil: nothing is written

	mu            sync.Mutex
	outputs       map[tipstaff.RequestID]*Output
	ended         list.List // of *Output, the one that ended first in front
	used          int64     // bytes in files
	bufferedBytes int64     // bytes that ended outputs hold in memory
	serial        uint64
	timer         *time.Timer // set while there are ended outputs
	closed        bool
	warned        bool
}

// Open returns a store, and removes what servers have left that have died. The
// caller closes it. Where the directory cannot be used, Open fails; a store with
// Options without one does not.
func Open(o Options) (*Store, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultBytes
	}
	if o.TotalBytes <= 0 {
		o.TotalBytes = DefaultTotalBytes
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{opts: o, block: newKey(), outputs: map[tipstaff.RequestID]*Output{}}
	if o.Dir == "" {
		return s, nil
	}
	var err error
	s.dir, err = openServerDir(o.Dir)
	return s, err
}

// Begin begins the output of a command. The caller calls [Output.End]. An output
// of the same id is removed.
func (s *Store) Begin(id tipstaff.RequestID) *Output {
	s.mu.Lock()
	s.serial++
	o := &Output{store: s, id: id, serial: s.serial, full: s.dir == nil}
	old := s.outputs[id]
	if old != nil {
		s.forget(old)
	}
	if s.closed {
		o.removed = true
	} else {
		s.outputs[id] = o
	}
	s.mu.Unlock()
	old.drop()
	return o
}

// Find returns the output of a command, if it is kept.
func (s *Store) Find(id tipstaff.RequestID) (*Output, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.outputs[id]
	return o, ok
}

// Remove removes the output of a command, also of one that still runs: then what
// it writes from now on is not kept.
func (s *Store) Remove(id tipstaff.RequestID) {
	s.mu.Lock()
	o := s.outputs[id]
	if o != nil {
		s.forget(o)
	}
	s.mu.Unlock()
	o.drop()
}

// EndSession removes the outputs of a session.
func (s *Store) EndSession(id tipstaff.SessionID) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.outputs))
	s.mu.Unlock()
	for _, o := range all {
		o.mu.Lock()
		of := id != "" && o.session == id
		o.mu.Unlock()
		if of {
			s.Remove(o.id)
		}
	}
}

// Close removes all outputs, and the directory of this server.
func (s *Store) Close() error {
	s.mu.Lock()
	var all []*Output
	for _, o := range s.outputs {
		s.forget(o)
		all = append(all, o)
	}
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	dropAll(all)
	return s.dir.close()
}

// forget takes an output out of the lists. The caller holds s.mu, and drops the
// output when it has released it.
func (s *Store) forget(o *Output) {
	delete(s.outputs, o.id)
	if o.entry != nil {
		s.ended.Remove(o.entry)
		o.entry = nil
		s.bufferedBytes -= o.heldAtEnd
	}
}

// reserve makes room for n bytes in files, and reports whether there is room.
// Outputs of ended commands go for it.
func (s *Store) reserve(n int64) bool {
	s.mu.Lock()
	var gone []*Output
	freed := int64(0)
	for s.used-freed+n > s.opts.TotalBytes && s.ended.Len() > 0 {
		o := s.oldest()
		s.forget(o)
		freed += o.onDisk
		gone = append(gone, o)
	}
	ok := s.used-freed+n <= s.opts.TotalBytes && !s.closed
	if ok {
		s.used += n
	}
	s.mu.Unlock()
	dropAll(gone)
	return ok
}

// release gives back bytes that were reserved.
func (s *Store) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// note takes an output among those that have ended, and removes those that are
// too many. held is how much memory it has.
func (s *Store) note(o *Output, held, onDisk int64) {
	s.mu.Lock()
	var gone []*Output
	if s.outputs[o.id] == o {
		o.endedAt, o.heldAtEnd, o.onDisk = time.Now(), held, onDisk
		o.entry = s.ended.PushBack(o)
		s.bufferedBytes += held
		for s.ended.Len() > mostEnded || s.bufferedBytes > mostEndedHeld && s.ended.Len() > 1 {
			first := s.oldest()
			s.forget(first)
			gone = append(gone, first)
		}
		s.wind()
	}
	s.mu.Unlock()
	dropAll(gone)
}

// wind sets the timer for the output that is to be removed next. The caller
// holds s.mu.
func (s *Store) wind() {
	if s.timer != nil || s.ended.Len() == 0 || s.closed {
		return
	}
	next := s.oldest().endedAt.Add(s.opts.Keep)
	s.timer = time.AfterFunc(time.Until(next), s.expire)
}

// expire removes what was kept long enough.
func (s *Store) expire() {
	s.mu.Lock()
	s.timer = nil
	var gone []*Output
	for s.ended.Len() > 0 {
		o := s.oldest()
		if time.Since(o.endedAt) < s.opts.Keep {
			break
		}
		s.forget(o)
		gone = append(gone, o)
	}
	s.wind()
	s.mu.Unlock()
	dropAll(gone)
}

// warn logs that outputs are not kept, once.
func (s *Store) warn(err error) {
	s.mu.Lock()
	first := !s.warned
	s.warned = true
	s.mu.Unlock()
	if first {
		s.opts.Log.Warn("the output of a command is not kept whole; this is said once", "dir", s.opts.Dir, "error", err)
	}
}

func dropAll(all []*Output) {
	for _, o := range all {
		o.drop()
	}
}

// oldest is the output whose command ended first. There is one.
func (s *Store) oldest() *Output {
	o, _ := s.ended.Front().Value.(*Output) // nothing else is put there
	return o
}
