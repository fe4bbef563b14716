package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tipstaff/internal/redact"
)

// Options say how a trail is written. The zero Options are useful.
type Options struct {
	// Redactor hides the secrets; nil goes by structure and form alone.
	Redactor *redact.Redactor
	// OSUser is written where a record names none.
	OSUser string
	// Clock tells the time; nil is the machine's.
	Clock func() time.Time
	// Durability says what a command waits for; the zero one is [Interval].
	Durability Durability
	// SegmentBytes is how large a file of the trail gets before the next one is
	// begun; 0: 64 MiB.
	SegmentBytes int64
	// OnCheckpoint is told of every checkpoint, as it is written, and the name of
	// the trail: who hands it on
	// to another place makes it count against the owner of this one. Nil: nobody.
	// It is called by one goroutine at a time, and holds up nothing but the next
	// checkpoint.
	OnCheckpoint func(trail string, note []byte)

	// OnRecord is told of every record that is on the trail: the trail's name, the
	// record's number and its line as it was written, in order. It must not block,
	// and the line is good for the time of the call. Nil: nobody.
	OnRecord func(trail string, seq uint64, line []byte)

	// Mend is asked to give the server back what it needs to reach the trail's
	// directory, when that is not permitted. Its error says why it could not. It may
	// be called by several goroutines at once. Nil: there is no such way.
	Mend func() error

	open func(path string) (file, error) // for tests; nil is [openFile]
}

const defaultSegmentBytes = 64 << 20

// Trail is a trail that is being written. Its methods may be called from many
// goroutines at once.
type Trail struct {
	path     string
	opts     Options
	key      *Key
	encoders sync.Pool // of *encoder

	mu      sync.Mutex
	file    file
	number  int          // of the file
	retired []segmentEnd // files before it that are not on the disk yet
	seals   []point      // ends of files that are, and are not signed
	line    []byte       // room for the line that is being written
	seq     uint64       // of the last record
	last    time.Time    // of the last record
	prev    digest       // hash of the last record
	tree    tree         // over all records
	good    int64        // where the last record ends in the file
	torn    bool         // bytes beyond good may be in the file
	unsync  error        // why the last sync, or checkpoint, failed; nil if it did not
	closed  bool

	commit  sync.Mutex
	wake    *sync.Cond // somebody has synced
	syncing bool       // somebody does
	synced  uint64     // records that are on the disk

	keeping sync.Mutex
	marks   marks // the checkpoints; with keeping held

	dirty chan struct{} // there is something to sync; holds one
	quit  chan struct{} // closed by Close
	done  chan struct{} // closed when the syncing goroutine has ended
}

// ErrClosed is what Append fails with after Close.
var ErrClosed = errors.New("the trail is closed")

// Create makes a new trail in dir, which it makes if needed, as a directory
// named <start time>-<pid>-<random>. Directories are 0700, files 0600. It
// writes no record. The caller closes the trail.
func Create(dir string, o Options) (*Trail, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.open == nil {
		o.open = openFile
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	t, err := newTrail(dir, o)
	if err != nil {
		return nil, fmt.Errorf("cannot create a trail: %w", err)
	}
	go t.keepSynced()
	return t, nil
}

func newTrail(dir string, o Options) (*Trail, error) {
	key, err := LoadKey(dir)
	if err != nil {
		return nil, err
	}
	path, err := makeTrail(dir, o.Clock())
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(path, trailKeyFile), []byte(key.Public+"\n"), 0o400); err != nil {
		return nil, err
	}
	t := &Trail{
		path: path, opts: o, key: key, number: 1, prev: origin(),
		dirty: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	t.wake = sync.NewCond(&t.commit)
	t.encoders.New = func() any { return newEncoder() }
	if t.marks.file, err = o.open(filepath.Join(path, checkpointsFile)); err != nil {
		return nil, err
	}
	// A trail without any checkpoint is one whose checkpoints were removed.
	if err := t.writeMark(t.point(), ""); err != nil {
		return nil, err
	}
	t.file, err = o.open(filepath.Join(path, firstSegment))
	return t, err
}

// name is that of the trail's directory.
func (t *Trail) name() string { return filepath.Base(t.path) }

// Key is the key that signs the trail.
func (t *Trail) Key() *Key { return t.key }

// Path is the trail's directory; the records are in its *.jsonl files.
func (t *Trail) Path() string { return t.path }

// Append writes one record, completed, with its secrets hidden and cut to
// [MaxLine]. When it returns nil the kernel has the whole line; within 100 ms
// it is on the disk. When it fails, nothing of the record stays on the trail,
// the chain is unbroken, and the next Append tries anew: a disk that was full
// and has room again needs no restart. With [Strict], the start of a command is
// on the disk when Append returns nil; if it could not be brought there, it stays
// on the trail as a start without an end.
//
// Append also fails as long as the disk does not take what was written before.
// After a failed sync the system may have dropped what it could not write, so
// records of the last moments may be lost if the machine then dies.
func (t *Trail) Append(r Record) error {
	if r.Event == "" {
		return errors.New("cannot record: the record names no event")
	}
	t.complete(&r)
	e := t.encoders.Get().(*encoder)
	defer t.encoders.Put(e)
	members, err := e.encode(&r)
	if err != nil {
		return fmt.Errorf("cannot record: %w", err)
	}
	seq, err := t.add(members)
	if err == nil && t.opts.Durability == Strict && r.Event == CommandStart {
		err = t.flush(seq)
	}
	if err != nil {
		return fmt.Errorf("cannot record: %w", err)
	}
	return nil
}

// add writes a record and returns its number.
func (t *Trail) add(members []byte) (seq uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.write(members)
	return t.seq, err
}

// complete fills in what the caller leaves to the trail, hides secrets and
// cuts what is too long. It does not change what r's slices hold.
func (t *Trail) complete(r *Record) {
	r.V, r.Seq, r.Time, r.Prev, r.Hash = 0, 0, time.Time{}, "", ""
	if r.Who.OSUser == "" {
		r.Who.OSUser = t.opts.OSUser
	}
	r.Name = r.Named()
	r.What.ArgvSHA256 = argvSHA256(r.What.Argv)
	r.What.Argv = t.opts.Redactor.Argv(r.What.Argv)
	r.What.Line = t.opts.Redactor.Text(r.What.Line)
	r.Why = t.opts.Redactor.Text(r.Why)
	r.Error = t.opts.Redactor.Text(r.Error)
	if a := r.Decision.Approval; a != nil && a.Comment != "" {
		hidden := *a
		hidden.Comment = t.opts.Redactor.Text(a.Comment)
		r.Decision.Approval = &hidden
	}
	r.bound()
}

func argvSHA256(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(argv, "\x00")))
	return hex.EncodeToString(sum[:])
}

// write adds one line to the file. t.mu is held.
//
// Invariant: the file's first t.good bytes are the t.seq records that were
// acknowledged, t.prev is the hash of the last of them, and the file holds
// nothing else unless t.torn.
func (t *Trail) write(members []byte) error {
	switch {
	case t.closed:
		return ErrClosed
	case t.unsync != nil:
		return fmt.Errorf("the disk did not take the records before: %w", t.unsync)
	}
	if err := t.mend(); err != nil {
		return err
	}
	if t.good >= t.opts.SegmentBytes {
		if err := t.nextSegment(); err != nil {
			return fmt.Errorf("the trail needs another file: %w", err)
		}
	}
	at := t.now()
	line, hash := link(t.line[:0], t.seq+1, at, members, t.prev)
	t.line = line
	n, err := t.file.Write(line)
	if err == nil && n != len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		t.torn = true
		_ = t.mend() // if it cannot be done now, the next Append does it
		return err
	}
	t.seq, t.last, t.prev, t.good = t.seq+1, at, hash, t.good+int64(len(line))
	t.tree.add(line[:len(line)-1])
	if t.opts.OnRecord != nil {
		t.opts.OnRecord(t.name(), t.seq, line[:len(line)-1])
	}
	select {
	case t.dirty <- struct{}{}:
	default:
	}
	return nil
}

// nextSegment begins another file. If there is no room for it, the trail goes on in
// the one that it has, and the next record tries again. It fails where the server may
// not make one: a directory that it is locked out of is mended, or nothing runs.
func (t *Trail) nextSegment() error {
	var f file
	err := t.reach(func() (err error) {
		f, err = t.opts.open(filepath.Join(t.path, segmentFile(t.number+1)))
		return err
	})
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // the trail goes on in the file that it has
	}
	t.retired = append(t.retired, segmentEnd{t.file, segmentFile(t.number), t.point()})
	t.file, t.good, t.number = f, 0, t.number+1
	return nil
}

// mend takes a torn line off the end of the file.
func (t *Trail) mend() error {
	if !t.torn {
		return nil
	}
	if err := t.file.Truncate(t.good); err != nil {
		return fmt.Errorf("a torn line cannot be removed: %w", err)
	}
	t.torn = false
	return nil
}

// now is the time of the next record. A clock that is set back stands still.
func (t *Trail) now() time.Time {
	now := t.opts.Clock().UTC().Round(0)
	if now.Before(t.last) {
		return t.last
	}
	return now
}
