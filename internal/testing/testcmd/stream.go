package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// Programs that read and write.

func cat([]string) error {
	_, err := io.Copy(os.Stdout, os.Stdin)
	return err
}

func neverRead(args []string) error {
	if err := pause(args); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}

func halfLine(args []string) error {
	fmt.Print("half a line")
	return pause(args)
}

func closeOutput(args []string) error {
	return errors.Join(os.Stdout.Close(), os.Stderr.Close(), pause(args))
}

// floodLine is what flood repeats: byte i of the flood is floodLine[i%64].
const floodLine = "the quick brown fox jumps over the lazy dog 0123456789 ABCDEFGH\n"

func flood(args []string) error {
	n, err := number(args, maxOutput)
	if err != nil {
		return err
	}
	to := "stdout"
	if len(args) > 1 {
		to = args[1]
	}
	switch to {
	case "stdout":
		return pour(os.Stdout, n)
	case "stderr":
		return pour(os.Stderr, n)
	case "both":
		other := make(chan error)
		go func() { other <- pour(os.Stderr, n) }()
		return errors.Join(pour(os.Stdout, n), <-other)
	}
	return fmt.Errorf("cannot flood %q, only stdout, stderr and both", to)
}

func pour(w io.Writer, n int) error {
	block := bytes.Repeat([]byte(floodLine), 1024)
	for ; n > 0; n -= len(block) {
		if _, err := w.Write(block[:min(n, len(block))]); err != nil {
			return err
		}
	}
	return nil
}

// writeInvalid writes the malformed bytes after the given number of letters, so
// that a test can place any of them at the position where output is cut.
func writeInvalid(args []string) error {
	before := 0
	if len(args) > 0 {
		var err error
		if before, err = number(args, 1<<24); err != nil {
			return err
		}
	}
	var b strings.Builder
	b.WriteString(strings.Repeat("a", before))
	for _, malformed := range []string{
		"\x80",             // a continuation alone
		"\xc3",             // the first of two
		"\xe2\x82",         // the first two of three
		"\xf0\x9f\x98",     // the first three of four
		"\xff\xfe",         // never bytes of UTF-8
		"\xc0\xaf",         // "/" in two bytes instead of one
		"\xed\xa0\x80",     // half of a surrogate pair
		"\xf4\x90\x80\x80", // above the last code point
	} {
		b.WriteString(malformed + "|")
	}
	b.WriteString("é€😀\n")
	_, err := os.Stdout.WriteString(b.String())
	return err
}

// writeControl writes each character between angle brackets, a line each.
func writeControl([]string) error {
	var b strings.Builder
	show := func(from, to rune) {
		for r := from; r <= to; r++ {
			b.WriteString("<" + string(r) + ">\n")
		}
	}
	show(0x00, 0x1f)       // C0
	show(0x7f, 0x9f)       // DEL and C1
	show(0xad, 0xad)       // soft hyphen
	show(0x200b, 0x200f)   // zero width, and direction marks
	show(0x2028, 0x202e)   // line and paragraph separators, direction overrides
	show(0x2060, 0x2069)   // invisible operators, direction isolates
	show(0xfeff, 0xfeff)   // byte order mark
	show(0xe0041, 0xe0043) // tags: invisible letters
	b.WriteString("\x1b[31mred\x1b[0m \x1b]0;title\x07 back\bspace over\rwrite\n")
	_, err := os.Stdout.WriteString(b.String())
	return err
}

// listen takes the address of a service that is down, and prints what is meant for that.
func listen(args []string) error {
	if len(args) == 0 {
		return errors.New("an address is missing")
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		if _, err := io.Copy(os.Stdout, conn); err != nil {
			return err
		}
	}
}
