package cmdline

import (
	"fmt"
	"strings"
)

// Kind names what stopped [Split]. The names are stable and appear in answers.
type Kind string

const (
	NUL               Kind = "NUL"                // a NUL character, which no argument can hold
	UnbalancedQuote   Kind = "UNBALANCED_QUOTE"   // a quote is not closed
	TrailingBackslash Kind = "TRAILING_BACKSLASH" // nothing follows a backslash
	Empty             Kind = "EMPTY"              // there is no word
	Newline           Kind = "NEWLINE"            // a line end between words
	Operator          Kind = "OPERATOR"           // an operator of the shell: | & ; < > ( )
	Comment           Kind = "COMMENT"            // a word that begins with #
	Substitution      Kind = "SUBSTITUTION"       // $(…), `…`, <(…)
	Expansion         Kind = "EXPANSION"          // $NAME, ${…}, $((…))
	DollarQuote       Kind = "DOLLAR_QUOTE"       // $'…' or $"…"
	Assignment        Kind = "ASSIGNMENT"         // NAME=value in front of the command
	ReservedWord      Kind = "RESERVED_WORD"      // if, while, { and the like
	Braces            Kind = "BRACES"             // {a,b} or {1..3}
	Tilde             Kind = "TILDE"              // ~ or ~user at the beginning of a word
	// Glob is the kind of a pattern that matches names of files. Only [Pattern]
	// has it: whether it matches is not for the line to say.
	Glob Kind = "GLOB"
)

// maxFound bounds how much of a word an error shows.
const maxFound = 80

// excerpt returns the beginning of a word for [SyntaxError.Found].
func excerpt(text string) string {
	if len(text) <= maxFound {
		return text
	}
	return strings.ToValidUTF8(text[:maxFound], "") + "…"
}

// SyntaxError says why a command line is not one simple command.
type SyntaxError struct {
	Kind   Kind
	Column int    // where it begins, in characters from 1; 0 for an empty line
	Found  string // what was found there, as "&&" or "$HOME"

	first string // the first word, to recognise "cd src && …"
}

// Error names what was found and where, in one line.
func (e *SyntaxError) Error() string {
	what := e.Kind.describe()
	if e.Found != "" {
		what += " " + Escape(e.Found)
	}
	if e.Column == 0 {
		return fmt.Sprintf("cannot split the command: %s (%s)", what, e.Kind)
	}
	return fmt.Sprintf("cannot split the command: %s at column %d (%s)", what, e.Column, e.Kind)
}

// describe names what was found, for people.
func (k Kind) describe() string {
	switch k {
	case NUL:
		return "a NUL character"
	case UnbalancedQuote:
		return "an unclosed quote"
	case TrailingBackslash:
		return "a backslash with nothing after it"
	case Empty:
		return "there is no word in it"
	case Newline:
		return "a line end between words"
	case Operator:
		return "the shell operator"
	case Comment:
		return "a shell comment"
	case Substitution:
		return "the command substitution"
	case Expansion:
		return "the variable expansion"
	case DollarQuote:
		return "the shell quote"
	case Assignment:
		return "the assignment"
	case ReservedWord:
		return "the shell keyword"
	case Braces:
		return "the brace expansion"
	case Tilde:
		return "the home directory"
	case Glob:
		return "the pattern"
	default:
		return "something that is not plain words"
	}
}
