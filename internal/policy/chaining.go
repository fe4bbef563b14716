package policy

import "strings"

// findChaining finds an argument that is an operator; && or || between words; a
// trailing &; an operator or a line end with a command behind it.
func findChaining(s string) string {
	if isOperator(s) {
		return s
	}
	for i := 0; i < len(s); {
		if !isOperatorByte(s[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(s) && isOperatorByte(s[end]) {
			end++
		}
		if chains(s, i, end) {
			return cutAt(s[i:], 24)
		}
		i = end
	}
	return ""
}

// isOperator reports whether s is nothing but a control operator.
func isOperator(s string) bool {
	switch s {
	case ";", "&", "&&", "|", "||", "|&", ";;", ";&", ";;&":
		return true
	}
	return false
}

func isOperatorByte(c byte) bool { return c == ';' || c == '&' || c == '|' || c == '\n' }

// lookBack bounds how much text before an operator is examined, so that the
// work stays proportional to the length of an argument.
const lookBack = 1024

// chains judges the operator at s[at:end].
func chains(s string, at, end int) bool {
	operator, before, after := s[at:end], s[max(0, at-lookBack):at], s[end:]
	if operator == "&" && (strings.HasSuffix(before, ">") || strings.HasSuffix(before, "<") || strings.HasPrefix(after, ">")) {
		return false // a redirection
	}
	spaced := before != "" && isBlank(before[len(before)-1])
	switch {
	case operator == "&" && spaced && strings.TrimLeft(after, " \t\r\n") == "":
		return true
	case (operator == "&&" || operator == "||") && spaced && after != "" && isBlank(after[0]) && strings.TrimSpace(before) != "":
		return beginsWord(strings.TrimLeft(after, " \t"))
	}
	c := operatorContext{operator: operator, before: before, spaced: spaced, glued: before != "" && !spaced && after != "" && !isBlank(after[0])}
	c.word, c.rest = nextWord(after)
	return c.isCommand()
}

// beginsWord distinguishes a word from a number or a comparison ("^1 || >=2").
func beginsWord(s string) bool {
	return s != "" && (isNameStart(s[0]) || s[0] >= 0x80 || strings.IndexByte("./~'\"({[\\-@!:", s[0]) >= 0)
}

// operatorContext is what stands behind an operator.
type operatorContext struct {
	operator string
	before   string // the text before it, up to lookBack
	spaced   bool   // a blank in front of it
	glued    bool   // no blank on either side
	word     string // the word behind it, without quotes
	rest     string // everything behind the word
}

// isCommand reports whether the text behind an operator reads as another
// command. Code and prose have the same operators ("a; b", "x && y"), so the
// word decides: a path or an option makes it a command at once, a word that is
// no known command makes it none. A miss is harmless, because no shell runs; a
// false alarm refuses honest work.
func (c *operatorContext) isCommand() bool {
	switch {
	case c.word == "":
		return false
	case strings.HasPrefix(c.rest, "("): // a call, as in many languages, or a shell's function
		return c.operator != "\n" && c.word != "function" && strings.HasPrefix(strings.ReplaceAll(c.rest, " ", ""), "(){")
	case isRooted(c.word):
		return c.isProgramPath()
	case c.hasOption():
		return true
	case c.word == ".":
		word, _ := nextWord(c.rest)
		return isRooted(word)
	}
	switch kind := commandKind(c.word); {
	case kind == notCommand:
		return false
	case c.glued && c.isLast() && c.isPartOfText():
		return false
	case kind == proseCommand:
		pair := c.operator == "&" && c.spaced && strings.TrimLeft(c.rest, " \t\r\n") == "" // "head & tail"
		return !pair && !readsOn(c.rest)
	}
	return true
}

// isLast reports whether nothing follows the word that could be its argument.
func (c *operatorContext) isLast() bool {
	rest := strings.TrimLeft(c.rest, " \t")
	return rest == "" || isOperatorByte(rest[0])
}

// isRooted reports whether word is written as a path with a fixed beginning.
func isRooted(word string) bool {
	for _, prefix := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(word, prefix) && len(word) > len(prefix) && word[len(prefix)] != '/' && isPath(word) {
			return true
		}
	}
	return false
}

// isProgramPath distinguishes a program from the next of several paths
// ("/opt/a;/opt/b") and from an alternative of a pattern ("^/a|/b").
func (c *operatorContext) isProgramPath() bool {
	if commandKind(c.word[strings.LastIndexByte(c.word, '/')+1:]) != notCommand || c.hasOption() {
		return true
	}
	if !c.glued || !c.isLast() {
		return true
	}
	last := c.before[strings.LastIndexAny(c.before, " \t\n=;|")+1:]
	return !strings.ContainsAny(last, `/^$*()[]\?+.`)
}

// isPartOfText reports whether a name glued to an operator is text: at the end
// it is a parameter of an address ("?a=1&date"), or an alternative of a pattern
// ("dist|make") unless it is a shell or another reader of pipes, or a command
// stands before it.
func (c *operatorContext) isPartOfText() bool {
	if c.operator == "&" {
		address := c.before[strings.LastIndexAny(c.before, " \t\n")+1:]
		return strings.Contains(address, "://") || strings.Contains(address, "?")
	}
	if c.operator != "|" {
		return false
	}
	first, _ := nextWord(c.before)
	return !readsPipes(c.word) && (first == "" || commandKind(first) == notCommand)
}

// hasOption reports whether word looks like a name and is followed by an
// option.
func (c *operatorContext) hasOption() bool {
	rest := strings.TrimLeft(c.rest, " \t")
	if rest == c.rest || !isPath(c.word) || c.word[0] == '-' {
		return false
	}
	letters := strings.TrimLeft(rest, "-")
	dashes := len(rest) - len(letters)
	return (dashes == 1 || dashes == 2) && letters != "" && isNameStart(letters[0])
}

// nextWord returns the first word of s in which a shell would look for a
// command: after groups, negations, keywords and assignments, and without
// quotes.
func nextWord(s string) (word, rest string) {
	for {
		s = strings.TrimLeft(s, " \t\r({!")
		end := strings.IndexAny(s, " \t\r\n;&|<>(){}")
		if end < 0 {
			end = len(s)
		}
		word, rest = unquoted(s[:end]), s[end:]
		if word == "" || rest == "" || !isBlank(rest[0]) || !isKeyword(word) && !isAssignment(word) {
			return word, rest
		}
		s = rest
	}
}

func unquoted(s string) string {
	if !strings.ContainsAny(s, `'"\`) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\'' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s)
}

func isKeyword(word string) bool {
	switch word {
	case "do", "then", "else", "time", "command", "builtin":
		return true
	}
	return false
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	if !ok || name == "" || !isNameStart(name[0]) {
		return false
	}
	for i := range len(name) {
		if !isName(name[i]) {
			return false
		}
	}
	return true
}
