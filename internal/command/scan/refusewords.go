package scan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parameter judges $name and ${…}.
func parameter(e *syntax.ParamExp) *Fault {
	if e.Param == nil || e.Flags != nil || e.NestedParam != nil || e.Width || e.IsSet || len(e.Modifiers) > 0 {
		return fault(e.Pos(), "", "this expansion is not of Bash")
	}
	if unsetHere(e.Param.Value) {
		return fault(e.Pos(), "", "$%s is not supported", e.Param.Value)
	}
	if x := e.Exp; x != nil && x.Op == syntax.OtherParamOps {
		if op := x.Word.Lit(); strings.Contains("PAKka", op) {
			return fault(e.Pos(), "${x@Q}, ${x@U}, ${x@u}, ${x@L} and ${x@E} are.", "${%s@%s} is not supported", e.Param.Value, op)
		}
	}
	return nil
}

// unsetHere reports whether Bash gives a variable a value that there is none of
// here.
func unsetHere(name string) bool {
	switch name {
	case "GROUPS", "HISTCMD", "COPROC", "TIMEFORMAT":
		return true
	case "BASH", "BASH_REMATCH", "BASH_SOURCE", "BASH_VERSION", "BASH_VERSINFO":
		return false
	}
	return strings.HasPrefix(name, "BASH") || strings.HasPrefix(name, "COMP_")
}

// assignment judges a variable that means something to Bash itself.
func assignment(a *syntax.Assign) *Fault {
	if a.Name == nil {
		return nil
	}
	switch name := a.Name.Value; name {
	case "GLOBIGNORE", "TIMEFORMAT", "POSIXLY_CORRECT", "CDPATH", "EXECIGNORE", "FUNCNEST", "BASH_COMPAT", "BASHOPTS", "SHELLOPTS", "BASH_XTRACEFD", "LINENO", "SRANDOM", "FUNCNAME", "DIRSTACK", "PIPESTATUS", "SHLVL", "BASH", "BASH_SOURCE", "BASH_VERSION", "BASH_VERSINFO":
		return fault(a.Pos(), "", "%s means something to Bash that is not supported", name)
	}
	return nil
}

// call judges a simple command.
func (r *refusal) call(c *syntax.CallExpr) *Fault {
	if len(c.Args) == 0 {
		return nil
	}
	for _, a := range c.Assigns {
		if a.Array != nil || a.Index != nil {
			return fault(a.Pos(), "Assign it in a command of its own.", "an array as the variable of one command is not supported")
		}
	}
	name := c.Args[0].Lit()
	if r.functions[name] {
		return nil
	}
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		words[i] = w.Lit()
	}
	what, hint := builtin(words)
	if what == "" {
		return nil
	}
	return fault(c.Pos(), hint, "%s is not supported", what)
}

// builtin names what is not supported of a builtin, and what to do instead. Words
// that the text does not tell are empty.
func builtin(words []string) (what, hint string) {
	args := words[1:]
	switch name := words[0]; name {
	case "bg", "fg", "suspend", "logout":
		return name, "A script has no terminal: use & and wait."
	case "bind", "compgen", "complete", "compopt", "fc", "history", "help":
		return name, "A script has no terminal."
	case "caller", "enable", "times":
		return name, ""
	case "set":
		return setting(args)
	case "shopt":
		return shopt(args)
	case "trap":
		return trap(args)
	}
	return "", ""
}

// setting returns an option of set that scripts must not use, and what to do
// instead; "" if there is none. These change how the shell reads or runs all
// that follows.
func setting(args []string) (what, hint string) {
	for i, a := range args {
		switch {
		case a == "--" || a == "-" || a == "" || a[0] != '-' && a[0] != '+':
			return "", ""
		case a[0] == '-' && strings.ContainsAny(a[1:], "bkmptvHPT"):
			return "set " + a, ""
		case strings.HasSuffix(a, "o") && a[0] == '-' && i+1 < len(args):
			switch args[i+1] {
			case "monitor", "verbose", "posix", "vi", "emacs", "notify", "functrace", "history", "histexpand", "onecmd", "keyword", "physical", "privileged", "ignoreeof":
				return "set -o " + args[i+1], ""
			}
			return "", ""
		}
	}
	return "", ""
}

func shopt(args []string) (what, hint string) {
	if len(args) < 2 || args[0] != "-s" {
		return "", ""
	}
	for _, a := range args[1:] {
		switch a {
		case "expand_aliases":
			return "shopt -s expand_aliases", "Use a function."
		case "xpg_echo", "autocd", "cdspell", "execfail", "localvar_inherit", "cdable_vars", "assoc_expand_once", "extdebug", "compat31", "compat32", "compat40", "compat41", "compat42", "compat43", "compat44":
			return "shopt -s " + a, ""
		}
	}
	return "", ""
}

// trap: what Bash itself would have to tell at each command is not here.
func trap(args []string) (what, hint string) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) < 2 || args[0] == "-" || args[0] == "-p" {
		return "", ""
	}
	for _, a := range args[1:] {
		switch strings.ToUpper(a) {
		case "DEBUG", "RETURN":
			return "trap of " + a, "Traps of EXIT, ERR and signals are."
		}
	}
	return "", ""
}
