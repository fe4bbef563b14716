package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// An attacker who can write a closed trail can make it look like that of a killed
// server: he removes its last checkpoints and its server.stop, and nothing in it says
// that there was more. So the first checkpoint of each trail says how earlier trails
// ended, by lines such as
//
//	before 20260101T120000Z-4711-c0ffee00 1200 9f86d081… closed
//	before 20260101T120000Z-4712-deadbeef 77 60303ae2… open
//
// The number and the hash are those of the last record. The hash covers all records
// before it, also those that no checkpoint covers. These lines do not show what happens
// to a trail before the next server of its directory starts.
//
// The directory [openDir] has a file for each trail whose end no later trail has
// recorded yet, so a server that starts looks at these trails only, however many others
// there are.

// predecessor is what a trail says about the end of another one.
type predecessor struct {
	trail  string
	seq    uint64 // of its last record; 0: it had none
	hash   string // of that record
	closed bool
	at     time.Time // when that was so, by the clock of the trail that says it
}

const (
	openDir    = "open" // in the directory of keys
	beforeLine = "before "
	// maxPredecessors bounds the lines of one checkpoint. What is left over waits for
	// the next trail.
	maxPredecessors = 16
)

func (p predecessor) line() string {
	state := "open"
	if p.closed {
		state = closed
	}
	return fmt.Sprintf("%s%s %d %s %s\n", beforeLine, p.trail, p.seq, p.hash, state)
}

func parsePredecessor(line string) (p predecessor, ok bool) {
	rest, ok := strings.CutPrefix(line, beforeLine)
	if !ok {
		return p, false
	}
	words := strings.Split(rest, " ")
	if len(words) != 4 || !trailName().MatchString(words[0]) || len(words[2]) != len(digest{}) {
		return p, false
	}
	seq, err := strconv.ParseUint(words[1], 10, 63)
	return predecessor{trail: words[0], seq: seq, hash: words[2], closed: words[3] == closed}, err == nil
}

// register notes that a trail begins, of which nothing has been said yet.
func register(dir, trail string) error {
	return os.WriteFile(filepath.Join(dir, keysDir, openDir, trail), nil, 0o600)
}

// openRegister makes the directory of trails of which nothing has been said yet, if it
// is not there. Then these are all but the given one: earlier versions said nothing.
func openRegister(dir, trail string) error {
	below := filepath.Join(dir, keysDir, openDir)
	_, err := os.Lstat(below)
	if errors.Is(err, os.ErrNotExist) {
		return registerAll(dir, below, trail)
	}
	return err
}

// registerAll makes that directory as a whole or not at all, by renaming one that is
// complete: a server that starts meanwhile must not find half of the trails.
func registerAll(dir, below, trail string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	fresh := below + "." + trail
	if err := os.MkdirAll(fresh, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != trail && trailName().MatchString(e.Name()) {
			if err := os.WriteFile(filepath.Join(fresh, e.Name()), nil, 0o600); err != nil {
				_ = os.RemoveAll(fresh)
				return err
			}
		}
	}
	if err := os.Rename(fresh, below); err != nil {
		_ = os.RemoveAll(fresh)
		if _, there := os.Lstat(below); there != nil {
			return err
		}
	} // else another server, which starts at the same time, has made it
	return nil
}

// unregister forgets trails.
func unregister(dir string, trails ...predecessor) {
	for _, p := range trails {
		_ = os.Remove(filepath.Join(dir, keysDir, openDir, p.trail)) // else another trail says the same
	}
}

// predecessors finds out how earlier trails ended of which no later trail has said it
// yet, at most maxPredecessors. It leaves out a trail whose server may still write. It
// returns nothing rather than an error: a server must start also beside trails that it
// cannot read.
func predecessors(dir string, key *Key) (list []predecessor) {
	entries, err := os.ReadDir(filepath.Join(dir, keysDir, openDir))
	if err != nil {
		return nil // the first trail of its directory, or one that cannot be known
	}
	trusted, err := key.trust(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !trailName().MatchString(e.Name()) {
			continue
		}
		p, ended := endOf(filepath.Join(dir, e.Name()), trusted)
		switch {
		case !ended:
		case p.hash == "": // it is gone, or nothing can be said of it
			unregister(dir, p)
		default:
			list = append(list, p)
		}
		if len(list) == maxPredecessors {
			break
		}
	}
	return list
}

// endOf finds out how a trail ended. ended is false if its server may still write to
// it; hash is "" if nothing can be said about its end. Only a checkpoint of a trusted
// key counts as a regular end.
func endOf(trail string, trusted trust) (p predecessor, ended bool) {
	p.trail = filepath.Base(trail)
	if _, err := os.Lstat(trail); errors.Is(err, os.ErrNotExist) {
		return p, true
	}
	c, err := lastOwn(trail, trusted)
	if err != nil {
		return p, !mayWrite(trail)
	}
	p.closed = c.End == closed
	if !p.closed && mayWrite(trail) {
		return p, false
	}
	line, err := lastLine(trail, !p.closed)
	if err != nil {
		return p, true
	}
	if line == nil {
		o := origin()
		p.hash = string(o[:])
		return p, true
	}
	seq, ok := QuickSeq(line)
	if link := LinkOf(line); ok && link.Sound {
		p.seq, p.hash = seq, link.Hash
	}
	return p, true
}

// lastOwn returns the last checkpoint of a trail, if a trusted key has signed it.
func lastOwn(trail string, trusted trust) (Checkpoint, error) {
	end, err := endOfFile(filepath.Join(trail, checkpointsFile), firstNote, false)
	if err != nil {
		return Checkpoint{}, err
	}
	msg, ok := lastNote(end)
	if !ok {
		return Checkpoint{}, errNoCheckpoint
	}
	known, err := Files{}.keysOf(trail, trusted)
	if err != nil {
		return Checkpoint{}, err
	}
	return openCheckpoint(msg, known)
}

// lastNote returns the last whole checkpoint of the end of a file of checkpoints.
func lastNote(end []byte) (msg []byte, ok bool) {
	for at := len(end); ; {
		at = bytes.LastIndex(end[:at], []byte(originPrefix))
		if at < 0 {
			return nil, false
		}
		if at > 0 && end[at-1] != '\n' {
			continue
		}
		if msg, _, ok := cutNote(end[at:]); ok {
			return msg, true
		}
	}
}

// lastLine returns the last whole line of a trail without its newline, nil if there is
// none. It syncs the file of a trail that was not closed: this server signs what it
// says about that line, so the line must be on the disk.
func lastLine(trail string, sync bool) ([]byte, error) {
	segments, _, err := Files{}.list(trail)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Backward(segments) {
		line, err := lastLineOf(path, sync)
		if err != nil || line != nil {
			return line, err
		}
	}
	return nil, nil
}

func lastLineOf(path string, sync bool) ([]byte, error) {
	end, err := endOfFile(path, 2*MaxLine, sync)
	if err != nil {
		return nil, err
	}
	end = end[:bytes.LastIndexByte(end, '\n')+1]
	if len(end) == 0 {
		return nil, nil
	}
	end = end[:len(end)-1]
	return end[bytes.LastIndexByte(end, '\n')+1:], nil
}

// endOfFile reads at most the last so many bytes of a file, which it syncs before if
// asked to.
func endOfFile(path string, most int64, sync bool) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if sync {
		if err := syncFile(f); err != nil {
			return nil, err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(info.Size()-most, 0), most))
}

// mayWrite reports whether the server of a trail may still run, by the process id in
// the name of the trail. Another process may have that id by now; then the end of the
// trail is recorded when that process has ended, too.
func mayWrite(trail string) bool {
	_, rest, _ := strings.Cut(filepath.Base(trail), "-")
	number, _, _ := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(number)
	if err != nil || pid < 0 {
		return false
	}
	if pid == 0 || pid == os.Getpid() { // see IsDaily, or a process of two roles has two trails
		return claimed(filepath.Join(trail, checkpointsFile))
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// firstNote bounds the first checkpoint of a trail.
const firstNote = 8 << 10

// claims returns what the given trails say about the ends of each other, by the path of
// the trail that it is about. A trail that is not signed by a known key says nothing.
func (f Files) claims(trails []TrailFiles, known map[string]trust) map[string][]predecessor {
	claims := map[string][]predecessor{}
	for _, t := range trails {
		above := filepath.Dir(t.Path)
		said, err := f.saidBy(t.Path, known[above])
		if err != nil {
			continue // reported with the trail itself
		}
		for _, p := range said {
			of := filepath.Join(above, p.trail)
			claims[of] = append(claims[of], p)
		}
	}
	return claims
}

// saidBy returns what a trail says about the ends of others: its first checkpoint, and
// those with which other processes have gone on with it.
func (f Files) saidBy(trail string, trusted trust) (list []predecessor, err error) {
	c, err := f.firstOf(trail, trusted)
	if err != nil {
		return nil, err
	}
	said := []Checkpoint{c}
	if IsDaily(trail) {
		if said, err = f.laterOf(trail, c, trusted); err != nil {
			return nil, err
		}
	}
	for _, c := range said {
		for _, p := range c.before {
			p.at = c.Time
			list = append(list, p)
		}
	}
	return list, nil
}

// laterOf adds those to the first checkpoint of a trail that speak of other trails.
func (f Files) laterOf(trail string, first Checkpoint, trusted trust) ([]Checkpoint, error) {
	data, err := f.readText(filepath.Join(trail, checkpointsFile))
	if err != nil {
		return nil, err
	}
	known, err := f.keysOf(trail, trusted)
	if err != nil {
		return nil, err
	}
	said := []Checkpoint{first}
	notes, _ := splitNotes(data)
	for _, msg := range notes[1:] {
		if !bytes.Contains(msg, []byte("\n"+beforeLine)) {
			continue
		}
		c, fault := openCheckpoint(msg, known)
		if fault != nil || c.Trail != first.Trail {
			break // nothing behind a false checkpoint counts
		}
		said = append(said, c)
	}
	return said, nil //nolint:nilerr // a false checkpoint ends what is said before it
}

// keysOf returns the key that signs a trail, if it is trusted.
func (f Files) keysOf(trail string, trusted trust) (note.Verifiers, error) {
	key, err := f.readText(filepath.Join(trail, trailKeyFile))
	if err != nil {
		return nil, err
	}
	public := strings.TrimSpace(string(key))
	if !trusted.accepts(public) {
		return nil, errors.New("another key has signed it")
	}
	return verifiers(public)
}

// firstOf reads the first checkpoint of a trail, which says how earlier trails ended.
// It fails unless a trusted key has signed it for this trail.
func (f Files) firstOf(trail string, trusted trust) (c Checkpoint, err error) {
	known, err := f.keysOf(trail, trusted)
	if err != nil {
		return c, err
	}
	file, err := f.Open(filepath.Join(trail, checkpointsFile))
	if err != nil {
		return c, err
	}
	defer func() { _ = file.Close() }() // it was only read
	head, err := io.ReadAll(io.NewSectionReader(file, 0, firstNote))
	if err != nil {
		return c, err
	}
	msg, _, ok := cutNote(head)
	if !ok {
		return c, errNoCheckpoint
	}
	if c, err = openCheckpoint(msg, known); err == nil && c.Trail != filepath.Base(trail) {
		err = errNoCheckpoint
	}
	return c, err
}
