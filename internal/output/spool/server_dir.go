package spool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"tipstaff/internal/flock"
)

// serverDir is the directory of one server, below that of all. It is made when it is
// needed, and locked as long as its server lives, so that another server can tell
// it from what a dead one has left.
type serverDir struct {
	dir string

	mu   sync.Mutex
	own  string // "": it is not made yet
	lock *os.File
}

// prefix begins the names of the directories of servers.
const prefix = "server-"

// openServerDir makes the directory of all servers, and removes what dead ones have
// left there.
func openServerDir(dir string) (*serverDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the spool: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // it is a directory
		return nil, fmt.Errorf("cannot close the spool to others: %w", err)
	}
	if err := removeDead(dir); err != nil {
		return nil, fmt.Errorf("cannot use the spool: %w", err)
	}
	return &serverDir{dir: dir}, nil
}

// removeDead removes the directories of servers that have died. Those of living
// ones are locked.
func removeDead(dir string) error {
	all, err := flock.LockDir(context.Background(), dir)
	if err != nil {
		return err
	}
	defer all.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ok, _ := filepath.Match(prefix+"*", e.Name()); !ok || !e.IsDir() {
			continue
		}
		lock, err := flock.TryDir(path)
		if err != nil {
			continue // its server lives
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
	return nil
}

// create makes the file of an output.
func (p *serverDir) create(serial uint64) (path string, file *os.File, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == "" {
		if err := p.make(); err != nil {
			return "", nil, err
		}
	}
	path = filepath.Join(p.own, strconv.FormatUint(serial, 10))
	file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return path, file, err
}

// make makes the directory of this server. Nothing is removed meanwhile.
func (p *serverDir) make() error {
	all, err := flock.LockDir(context.Background(), p.dir)
	if err != nil {
		return err
	}
	defer all.Close()
	own, err := os.MkdirTemp(p.dir, prefix) // mode 0700
	if err != nil {
		return err
	}
	if p.lock, err = flock.TryDir(own); err != nil {
		_ = os.Remove(own)
		return err
	}
	p.own = own
	return nil
}

// close removes the directory. It may be called of nil.
func (p *serverDir) close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == "" {
		return nil
	}
	err := os.RemoveAll(p.own)
	_ = p.lock.Close()
	p.own = ""
	return err
}
