//go:build linux

package interp

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// xargs is GNU xargs, as a part of the shell: the host gets each command with the words
// that it really has, and decides about it like about any other. As xargs does, it starts
// programs, and neither functions nor builtins but for echo, true and false, which are the
// same.
type xargs struct {
	s       *Shell
	options xargsOptions
	initial []string
	fixed   int // bytes of initial
	words   []string
	bytes   int // of words
	lines   int // for -L
	ran     bool

	slots chan struct{}
	all   sync.WaitGroup
	mu    sync.Mutex
	code  int  // the worst so far
	over  bool // nothing starts any more
}

// The exit codes of xargs.
const (
	xargsFailed = 123 // a command had another code than 0
	xargsEnded  = 124 // a command had 255, by which it ends xargs
	xargsKilled = 125 // a signal has ended a command
)

// mostXargs is how many commands run at once with -P 0.
const mostXargs = 32

// callXargs runs xargs with these words, the first its name.
func callXargs(s *Shell, a []string) int {
	x := &xargs{s: s, options: xargsOptions{most: usualXargs, procs: 1}}
	rest, code := x.options.parse(s, a[1:])
	if code != 0 || s.jump != noJump {
		return code
	}
	if x.initial = slices.Clone(rest); len(rest) == 0 {
		x.initial = []string{"echo"}
	}
	for _, w := range x.initial {
		x.fixed += len(w) + 1
	}
	if x.fixed > x.options.most {
		return x.fail(1, "cannot fit single argument within argument list size limit")
	}
	n := x.options.procs
	if n == 0 {
		n = mostXargs
	}
	x.slots = make(chan struct{}, min(n, mostXargs))
	return x.run()
}

// run reads the items and runs the commands.
func (x *xargs) run() int {
	in := x.s.files[0]
	if path := x.options.file; path != "" {
		f, err := x.s.open(path, reads)
		if err != nil {
			return x.fail(1, "%s: %s", path, reason(err))
		}
		defer f.release()
		in = f
	}
	if in == nil {
		return x.fail(1, "read error: Bad file descriptor")
	}
	x.begin()
	err := x.read(bufio.NewReader(in.File))
	if err == nil && x.options.replace == "" && (len(x.words) > len(x.initial) || !x.ran && !x.options.notEmpty) {
		err = x.start()
	}
	x.all.Wait()
	if err != nil && err != errXargsOver { //nolint:errorlint // it is never wrapped
		x.say("%v", err)
		x.worse(1)
	}
	return x.code
}

func (x *xargs) begin() { x.words, x.bytes, x.lines = slices.Clone(x.initial), x.fixed, 0 }

// add adds an item to the command at hand, and starts the command when it is complete.
func (x *xargs) add(item string) error {
	o := &x.options
	if o.replace != "" {
		x.words = x.words[:0]
		x.bytes = 0
		for i, w := range x.initial {
			if i > 0 { // GNU xargs leaves the name of the program as it is
				w = strings.ReplaceAll(w, o.replace, item)
			}
			x.words = append(x.words, w)
			if x.bytes += len(w) + 1; x.bytes > o.most {
				return fmt.Errorf("argument list too long")
			}
		}
		return x.start()
	}
	n := len(item) + 1
	if x.fixed+n > o.most {
		if len(x.words) > len(x.initial) {
			if err := x.start(); err != nil {
				return err
			}
		}
		return fmt.Errorf("argument line too long")
	}
	if x.bytes+n > o.most {
		if o.exits && (o.items > 0 || o.lines > 0) {
			return fmt.Errorf("argument list too long")
		}
		lines := x.lines
		if err := x.start(); err != nil {
			return err
		}
		x.lines = lines
	}
	x.words, x.bytes = append(x.words, item), x.bytes+n
	if o.items > 0 && len(x.words)-len(x.initial) == o.items {
		return x.start()
	}
	return nil
}

// errXargsOver says that no further command starts. What ended it has been told.
var errXargsOver = fmt.Errorf("xargs is over")

// start starts the command at hand in a shell of its own, and waits for it unless others
// may run beside it.
func (x *xargs) start() error {
	words := x.words
	x.begin()
	x.ran = true
	x.slots <- struct{}{}
	x.mu.Lock()
	over := x.over
	x.mu.Unlock()
	if over || x.s.stops() || x.s.crowded() {
		<-x.slots
		return errXargsOver
	}
	if x.options.verbose {
		shown := make([]string, len(words))
		for i, w := range words {
			shown[i] = traced(w)
		}
		x.print(strings.Join(shown, " "))
	}
	sub := x.s.subshell()
	sub.quiet = true
	if x.options.file == "" {
		sub.files.set(0, x.s.null.hold())
	}
	x.all.Go(func() {
		sub.in(func() { x.settle(words[0], sub.apart(words)) })
		<-x.slots
	})
	if cap(x.slots) == 1 {
		x.all.Wait()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return errXargsOver
	}
	return nil
}

// apart runs one command of xargs.
func (s *Shell) apart(words []string) Outcome {
	told := len(words) == 2 && (words[1] == "--help" || words[1] == "--version")
	if words[0] == "echo" && !told {
		return Outcome{Code: echo(s, words)}
	}
	if words[0] == "true" || words[0] == "false" {
		return Outcome{Code: control(words[0])(s, words)}
	}
	return s.program(words)
}

// settle takes how a command has ended.
func (x *xargs) settle(name string, o Outcome) {
	switch {
	case o.Text != "" || o.Refused: // it did not start, which has been said
		x.end(o.Code)
	case o.Signal != 0:
		x.end(xargsKilled)
		x.say("%s: terminated by signal %d", name, o.Signal)
	case o.Code == 255:
		x.end(xargsEnded)
		x.say("%s: exited with status 255; aborting", name)
	case o.Code != 0:
		x.worse(xargsFailed)
	}
}

func (x *xargs) end(code int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.code == 0 { // else GNU xargs tells the earlier failure
		x.code = code
	}
	x.over = true
}

func (x *xargs) worse(code int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.code = code
	}
}

func (x *xargs) print(line string) {
	if f := x.s.files[2]; f != nil {
		_, _ = f.WriteString(line + "\n")
	}
}

func (x *xargs) say(format string, args ...any) { x.print("xargs: " + fmt.Sprintf(format, args...)) }

func (x *xargs) fail(code int, format string, args ...any) int {
	x.say(format, args...)
	return code
}

// read gives add each item of the input.
func (x *xargs) read(in *bufio.Reader) error {
	if d := x.options.delimiter; d >= 0 {
		return x.readBy(in, byte(d))
	}
	r := xargsReader{x: x, in: in}
	for {
		more, err := r.line()
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if n := x.options.lines; n > 0 && x.lines >= n {
			if err := x.start(); err != nil {
				return err
			}
		}
	}
}

// readBy reads items that each end with a byte.
func (x *xargs) readBy(in *bufio.Reader, end byte) error {
	for {
		item, err := in.ReadString(end)
		if err != nil && item == "" {
			return nil
		}
		x.lines++
		text, _, _ := strings.Cut(strings.TrimSuffix(item, string(end)), "\x00")
		if err := x.add(text); err != nil {
			return err
		}
		if n := x.options.lines; n > 0 && x.lines >= n {
			if err := x.start(); err != nil {
				return err
			}
		}
	}
}

// xargsReader reads items as xargs does without -0 and -d: blanks and line ends separate
// them, quotes and backslashes protect.
type xargsReader struct {
	x      *xargs
	in     *bufio.Reader
	over   bool
	warned bool
}

// line reads the items of one line. With -I the line is one item, and a blank at the end
// of a line joins the next one.
func (r *xargsReader) line() (more bool, err error) { //nolint:funlen // the states of one reader
	if r.over {
		return false, nil
	}
	var item []byte
	first, space := true, true
	quote, escaped := byte(0), false
	var before byte
	push := func(ends bool) (stop bool, err error) {
		text, _, _ := strings.Cut(string(item), "\x00")
		item = item[:0]
		if eof := r.x.options.eof; ends && eof != "" && text == eof {
			r.over = true
			return true, nil
		}
		return false, r.x.add(text)
	}
	for {
		c, fault := r.in.ReadByte()
		if fault != nil {
			r.over = true
			switch {
			case fault != io.EOF:
				return false, fmt.Errorf("read error: %s", reason(fault))
			case quote != 0:
				return false, r.unmatched(quote)
			case len(item) == 0:
				return false, nil
			}
			_, err := push(first)
			return true, err
		}
		prev := before
		before = c
		blank := c == ' ' || c == '\t'
		switch {
		case escaped:
			escaped = false
		case quote != 0 && c == '\n':
			return false, r.unmatched(quote)
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote != 0:
		case space && (blank || c == '\n' || c >= '\v' && c <= '\r'):
			continue
		case c == '\n':
			if prev != ' ' && prev != '\t' {
				r.x.lines++
			}
			if len(item) == 0 {
				space = true
				continue
			}
			stop, err := push(true)
			return !(stop && first), err
		case blank && r.x.options.replace == "":
			stop, err := push(true)
			if err != nil || stop {
				return !(stop && first), err
			}
			space, first = true, false
			continue
		case c == '\\':
			escaped, space = true, false
			continue
		case c == '\'' || c == '"':
			quote, space = c, false
			continue
		}
		space = false
		if c == 0 && !r.warned {
			r.warned = true
			r.x.say("WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument list.  Did you mean to use the --null option?")
		}
		item = append(item, c)
	}
}

func (r *xargsReader) unmatched(quote byte) error {
	if x := r.x; x.options.replace == "" && len(x.words) > len(x.initial) {
		if err := x.start(); err != nil {
			return err
		}
	}
	name := "single"
	if quote == '"' {
		name = "double"
	}
	return fmt.Errorf("unmatched %s quote; by default quotes are special to xargs unless you use the -0 option", name)
}

// number reads the number of an option.
func (x *xargsOptions) number(s *Shell, option, text string, least int, to *int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil:
		return xargsUsage(s, "invalid number \"%s\" for -%s option", text, option)
	case n < least:
		return xargsUsage(s, "value %s for -%s option should be >= %d", text, option, least)
	}
	*to = n
	return 0
}
