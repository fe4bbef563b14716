package programs

import (
	"slices"
	"strings"
)

// The readers of database clients know the commands that look and no others:
// clients have many commands that start programs or write files, and get more.
// SQL is searched for words, wherever they stand: what is quoted in one dialect
// is a name in another.

// sqliteStarts accepts only dot commands that neither start programs nor load
// code, and no statement that loads code or starts an editor.
func sqliteStarts(text string) string {
	const harmless = ` .backup .bail .binary .cd .changes .clone .databases .dbinfo .dump .echo .eqp .exit .explain .fullschema .header .headers .help .import .indexes .indices
		.mode .nullvalue .once .open .output .parameter .print .quit .read .restore .save .schema .separator .show .stats .tables .timeout .timer .version .width `
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, ".") {
			continue
		}
		words := strings.Fields(line)
		switch rest := words[1:]; {
		case !slices.Contains(strings.Fields(harmless), words[0]):
			return cut(line)
		case words[0] == ".separator", words[0] == ".print":
		case strings.Contains(line, "|"): // .output |command
			return cut(line)
		case (words[0] == ".once" || words[0] == ".output") && len(rest) > 0 && strings.HasPrefix(strings.Trim(rest[0], `"'`), "-"): // an editor, or a viewer
			return cut(line)
		}
	}
	return wordOf(text, "edit", "load_extension")
}

// psqlStarts accepts only commands of psql that look or set how it prints, and
// no COPY that starts a program of the server. A backquote is a command line
// wherever it stands behind a command.
func psqlStarts(text string) string {
	const harmless = ` a conninfo copyright C crosstabview echo qecho warn elif else endif if encoding errverbose f g gdesc gset gx h H help l list p print pset q r reset
		set sf sv t T timing unset x z `
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			continue
		}
		rest := text[i+1:]
		end := 0
		for end < len(rest) && inWord(rest[end]) {
			end++
		}
		line, _, _ := strings.Cut(rest[end:], "\n")
		switch command := rest[:end]; {
		case end == 0 && rest[0] == '\\', end == 0 && rest[0] == ';':
			i++ // \\ separates commands
		case end == 0 && rest[0] == '?':
		case end == 0, strings.ContainsAny(line, "|`"):
			return cut(text[i:])
		case slices.Contains(strings.Fields(harmless), command), strings.HasPrefix(command, "d"), strings.HasPrefix(command, "l") && !strings.HasPrefix(command, "lo_"):
		default:
			return cut(text[i:])
		}
	}
	if strings.HasPrefix(strings.TrimSpace(text), `\`) && strings.Contains(text, "`") {
		return "`"
	}
	if wordOf(text, "copy") != "" {
		return wordOf(text, "program")
	}
	return ""
}

// mysqlStarts looks for commands of the client: they count at the beginning of a
// line or of a statement, and after a backslash anywhere.
func mysqlStarts(text string) string {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		word, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		if word = strings.ToLower(strings.TrimSpace(word)); slices.Contains([]string{"system", "pager", "edit", "tee", "source", "sandbox", "plugin"}, word) || strings.HasPrefix(word, "system\t") {
			return word
		}
	}
	for _, command := range []string{`\!`, `\P`, `\T`, `\.`, `\e`} {
		if strings.Contains(text, command) {
			return command
		}
	}
	return wordOf(text, "load_file", "outfile", "dumpfile")
}

// jqReads looks for statements that read modules: jq takes a string behind
// import and include, after blanks and comments.
func jqReads(text string) string {
	for _, word := range []string{"import", "include", "modulemeta"} {
		rest := text
		for {
			i := strings.Index(rest, word)
			if i < 0 {
				break
			}
			alone := i == 0 || !inWord(rest[i-1])
			rest = rest[i+len(word):]
			next := strings.TrimLeft(rest, " \t\r\n")
			if alone && (word == "modulemeta" || strings.HasPrefix(next, `"`) || strings.HasPrefix(next, "#")) {
				return word
			}
		}
	}
	return wordOf(text, "__prog_args")
}

// wordOf returns the first of the words that a text contains as a whole word, in
// any case; "" if there is none.
func wordOf(text string, words ...string) string {
	text = strings.ToLower(text)
	for word := range strings.FieldsFuncSeq(text, notInWord) {
		if slices.Contains(words, word) {
			return word
		}
	}
	return ""
}
