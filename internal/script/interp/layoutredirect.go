//go:build linux

package interp

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirections writes those of a command, each with the descriptor that Bash names.
func (l *layout) redirections(list []*syntax.Redirect, before string) {
	for _, r := range list {
		l.WriteString(before)
		l.redirection(r)
	}
}

func (l *layout) redirection(r *syntax.Redirect) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	usual := "1"
	switch r.Op {
	case syntax.RdrIn, syntax.WordHdoc:
		usual = "0"
	case syntax.RdrInOut:
		usual = ""
		if fd == "" {
			fd = "0"
		}
		if fd == "1" {
			fd = ""
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
	case syntax.RdrAll, syntax.AppAll:
		usual = ""
	case syntax.DplOut, syntax.DplIn:
		l.duplication(r, fd)
		return
	default:
		refuse("a here-document", r)
	}
	if fd == usual {
		fd = ""
	}
	l.WriteString(fd + r.Op.String() + " ")
	l.word(r.Word)
}

func (l *layout) duplication(r *syntax.Redirect, fd string) {
	to, op := r.Word.Lit(), r.Op.String()
	if to == "" || to != "-" && strings.Trim(to, "0123456789") != "" {
		refuse(op+" like this", r)
	}
	if fd == "" {
		fd = map[bool]string{false: "0", true: "1"}[r.Op == syntax.DplOut]
	}
	if to == "-" {
		op = ">&"
	}
	l.WriteString(fd + op + to)
}
