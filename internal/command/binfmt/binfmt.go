// Package binfmt says why a file is no program that this machine can start. It looks at the
// few bytes by which the kernel decides, and starts nothing.
package binfmt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tipstaff/internal/plainfile"
)

// longestFirstLine is how much of the first line of a script the kernel reads.
const longestFirstLine = 256

// mostParts is how many parts of a binary are looked at.
const mostParts = 64

// Fault returns what is wrong with the file of a program that the kernel did not
// start, as the end of a sentence that begins with the program, and what to do; "" if
// nothing is found.
func Fault(path string) (why, hint string) {
	f, err := plainfile.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	head := make([]byte, longestFirstLine)
	n, err := f.ReadAt(head, 0)
	head = head[:n]
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", ""
	case len(head) == 0:
		return "its file is empty", "Make it again: what was to write it has written nothing."
	case bytes.HasPrefix(head, []byte("#!")):
		return whyNoInterpreter(head)
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return whyNotOfThisMachine(f, head)
	case bytes.HasPrefix(head, []byte("MZ")):
		return "it is a program for Windows", forThisMachine
	case bytes.HasPrefix(head, []byte("\xcf\xfa\xed\xfe")), bytes.HasPrefix(head, []byte("\xca\xfe\xba\xbe")):
		return "it is a program for macOS", forThisMachine
	case !bytes.Contains(head, []byte{0}):
		return "it is a text whose first line names no interpreter", "Begin it with a line such as #!/bin/sh, or start it by its interpreter (sh FILE, python3 FILE)."
	}
	return "its file has no format that this system can run", forThisMachine
}

// IsText reports whether a shell takes a file that the kernel does not start for a script:
// as in Bash, if the first line has no NUL.
func IsText(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 80)
	n, err := f.ReadAt(head, 0)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	return (err == nil || errors.Is(err, io.EOF)) && !bytes.Contains(line, []byte{0})
}

const forThisMachine = "Build or fetch the program for this machine."

// whyNoInterpreter says what is wrong with the interpreter of a script, by its first
// line.
func whyNoInterpreter(head []byte) (why, hint string) {
	line, _, _ := bytes.Cut(head[len("#!"):], []byte("\n"))
	words := strings.FieldsFunc(string(line), func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) == 0 {
		return "its first line (#!) names no interpreter", "Name one there, such as #!/bin/sh."
	}
	last := words[len(words)-1]
	info, err := os.Stat(words[0])
	switch {
	case strings.HasSuffix(last, "\r"):
		return "its first line (#!) ends with a carriage return, which the kernel takes for a part of the name", `Save it with the line ends of Unix, for example by sed -i 's/\r$//'.`
	case err != nil:
		return fmt.Sprintf("the interpreter that its first line (#!) names, %.100q, does not exist", words[0]), "Name an interpreter there that exists, or start the script by it (sh FILE, python3 FILE)."
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Sprintf("the interpreter that its first line (#!) names, %.100q, is not executable", words[0]), "Name a program in the first line, or start the script by one (sh FILE, python3 FILE)."
	}
	return "", ""
}

// whyNotOfThisMachine says for what a binary was built. It reads the few fields that say
// so, and not the file as a whole, which a caller may have made to be anything.
func whyNotOfThisMachine(f io.ReaderAt, head []byte) (why, hint string) {
	var h elf.Header64
	if len(head) < binary.Size(h) || binary.Read(bytes.NewReader(head), binary.LittleEndian, &h) != nil {
		return "its file is no complete program", "Build or fetch it again."
	}
	here := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if m := elf.Machine(h.Machine); m != here && here != elf.EM_NONE {
		return fmt.Sprintf("it is built for %s, and this machine is %s", machineName(m), machineName(here)), forThisMachine
	}
	parts := make([]elf.Prog64, min(h.Phnum, mostParts))
	if h.Phoff > 1<<40 || binary.Read(io.NewSectionReader(f, int64(h.Phoff), 1<<16), binary.LittleEndian, parts) != nil {
		return "its file is no complete program", "Build or fetch it again."
	}
	for _, p := range parts {
		if elf.ProgType(p.Type) != elf.PT_INTERP || p.Filesz > longestFirstLine || p.Off > 1<<40 {
			continue
		}
		loader := make([]byte, p.Filesz)
		if _, err := f.ReadAt(loader, int64(p.Off)); err != nil {
			break
		}
		name := string(bytes.TrimRight(loader, "\x00"))
		if _, err := os.Stat(name); err != nil && filepath.IsAbs(name) {
			return fmt.Sprintf("the loader that it needs, %.100q, does not exist", name), "It is built for another system or another C library: build or fetch it for this machine, or link it statically."
		}
	}
	return "", ""
}

func machineName(m elf.Machine) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "EM_"))
}
