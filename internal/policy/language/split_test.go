package language_test

import (
	"errors"
	"strings"
)

// split splits as much of a shell's syntax as the examples here need: blanks
// and quotes. In the program, internal/command/cmdline splits, which is on the same floor
// and cannot be imported.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case '\'', '"':
			end := strings.IndexByte(line[i+1:], c)
			if end < 0 {
				return nil, errors.New("a quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			begun, i = true, i+1+end
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
