package job

import (
	"context"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/output/terminal"
)

// display is what the terminal of a command shows. Its methods may be called from
// several goroutines at once.
type display struct {
	mu      sync.Mutex
	screen  *terminal.Screen
	replies []byte // to what the program has asked the terminal, not yet typed
	typing  bool
}

func newDisplay(size tipstaff.TerminalSize) *display { return &display{screen: terminal.New(size)} }

// mostReplies bounds the answers that wait for a program that asks and does not
// read.
const mostReplies = 4 << 10

// replyPatience is how long a program may take to read an answer.
const replyPatience = time.Second

// write shows p, and lets reply type what the terminal answers. It does not wait
// for that.
func (d *display) write(p []byte, reply func(p []byte)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.screen.Write(p) // it takes everything
	if r := d.screen.Replies(); len(d.replies)+len(r) <= mostReplies {
		d.replies = append(d.replies, r...)
	}
	if len(d.replies) > 0 && !d.typing {
		d.typing = true
		go d.answer(reply)
	}
}

// answer types the answers of the terminal until there are none.
func (d *display) answer(reply func(p []byte)) {
	for {
		d.mu.Lock()
		p := d.replies
		d.replies = nil
		if len(p) == 0 {
			d.typing = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		reply(p)
	}
}

func (d *display) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.screen.Text()
}

func (d *display) look() (text string, columns int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.screen.Text(), int(d.screen.Size().Columns)
}

func (d *display) resize(size tipstaff.TerminalSize) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.screen.Resize(size)
}

func (d *display) key(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.screen.Key(name)
}

// reply types what the command's terminal answers to its program. It is no input
// of a caller, and is not on the record as such.
func (j *Job) reply(ctx context.Context, p []byte) {
	c, err := j.steering()
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, replyPatience)
	defer stop()
	_, _ = c.Input(ctx, p) // a program that does not read has no answer
}

// Key returns what a key of the command's terminal sends, by its name.
func (j *Job) Key(name string) ([]byte, error) {
	if j.display == nil {
		return nil, noTerminal(j.id)
	}
	return j.display.key(name)
}

// Screen returns what the command's terminal shows, if it has one.
func (j *Job) Screen() (text string, has bool) {
	if j.display == nil {
		return "", false
	}
	return j.display.text(), true
}

// Shown returns what the command's terminal shows and how many columns it has, if it
// has one.
func (j *Job) Shown() (text string, columns int, has bool) {
	if j.display == nil {
		return "", 0, false
	}
	text, columns = j.display.look()
	return text, columns, true
}
