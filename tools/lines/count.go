package main

import (
	"go/scanner"
	"go/token"
	"strings"
)

// codeLines counts the lines of a Go file that hold code: those with a token that is
// no comment. Each line of a raw string counts, also a blank one.
//
// tools/lines and internal/testing/archtest are in different modules, so each has this
// file; a test compares the two.
func codeLines(src []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0) // without ScanComments the scanner skips comments
	last, count := 0, 0       // the last line that was counted
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return count
		case tok == token.SEMICOLON && text == "\n":
			continue // the scanner inserts it at the end of a line
		}
		first := file.Line(pos)
		end := first + strings.Count(text, "\n")
		count += max(0, end-max(first-1, last))
		last = max(last, end)
	}
}
