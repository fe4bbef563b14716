package cmdline

// Offer says what else the author of a command can use. The zero Offer is
// nothing else.
type Offer struct {
	// Shell: the tool execute_shell is offered, which runs scripts.
	Shell bool
}

// scripts names the way to run what only a shell understands.
func (o Offer) scripts() string {
	if o.Shell {
		return ` Or send it to execute_shell, which runs shell scripts.`
	}
	return ` An operator who wants a shell may allow bash; then say: bash -c '…'.`
}

// expanding is scripts for what only a shell expands. Without execute_shell it
// says nothing: naming the files is less than asking for a shell.
func (o Offer) expanding() string {
	if o.Shell {
		return o.scripts()
	}
	return ""
}

// Hint says what to do instead, for the author of the command.
func (e *SyntaxError) Hint(o Offer) string {
	wantShell := o.scripts()
	switch e.Kind {
	case NUL:
		return "Remove the NUL character; no program can be given one."
	case UnbalancedQuote:
		return `Close the quote. A single quote inside text is written '\'' or put in double quotes: "it's".`
	case TrailingBackslash:
		return `Remove the backslash, or write \\ for a backslash that is meant as text.`
	case Empty:
		return `Give a program and its arguments, for example: ls -la`
	case Newline:
		return oneCall + ` A line end that is meant as text belongs in quotes.` + wantShell
	case Comment:
		return `Leave the comment out, or put text that begins with # in single quotes: '#1'.`
	case Substitution:
		return `No shell runs here. Run the inner command in a call of its own and put its output in the next one. ` + quoteIt + wantShell
	case Expansion:
		return `No shell runs here, so variables are not expanded. Write the value itself. ` + quoteIt + wantShell
	case DollarQuote:
		return `Use plain '…' or "…" quotes; they may span lines.`
	case Assignment:
		return `Variables cannot be set in front of a command here. Leave it out, or, if env is allowed: env NAME=value program …`
	case ReservedWord:
		return oneCall + ` No shell runs here.` + wantShell
	case Braces:
		return `No shell runs here, so braces are not expanded. Write every word out, or put it in single quotes if it is meant as text.` + o.expanding()
	case Tilde:
		return `No shell runs here, so ~ is not a directory. Write the path itself. ` + quoteIt + o.expanding()
	}
	return e.operatorHint() + wantShell
}

// operatorHint says how to do without a shell's operator what its caller most
// likely wants from it.
func (e *SyntaxError) operatorHint() string {
	hint := oneCall
	switch e.Found {
	case "|", "|&":
		hint = `No shell runs here, so there are no pipes. Run each program in a call of its own; text for the second goes into input.`
	case "<", "<<", "<<<", "<<-", "<>", "<&":
		hint = `No shell runs here, so there are no redirections. Give a program text to read with input.`
	case ">", ">>", ">|", ">&", "&>", "&>>":
		hint = `No shell runs here, so there are no redirections. Standard output and standard error come back in the answer as they are.`
	case "&":
		hint = `No shell runs here, and commands do not run in the background.`
	}
	if e.first == "cd" {
		hint = `To run in another directory, leave cd out and give the directory as cwd. ` + hint
	}
	return hint + " " + quoteIt
}

const (
	oneCall = `Make one call per command.`
	quoteIt = `If it is meant as text, put it in single quotes: '…'.`
)
