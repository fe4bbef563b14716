package policy

import (
	"slices"
	"strings"

	"tipstaff/internal/paths"
	"tipstaff/internal/redact"
)

// fault returns why a caller's variable does not reach commands, "" if it does.
// The table of names is checked first, then the value regardless of the name,
// then name and value together.
func (j *variableJudge) fault(name, value string) string {
	if j.by.Pass != nil && j.by.Pass(name) {
		return ""
	}
	rule, known := j.rules.named(name, ofCaller)
	if known && !rule.keep {
		if j.tables.harmlessOptions(name, value, false) && !substitutes(value) {
			return ""
		}
		return rule.why
	}
	if _, secret := redact.SecretName(name); secret && !known {
		return "its name promises a secret"
	}
	if why := faultOfValue(name, value); why != "" {
		return why
	}
	switch {
	case value == "":
		return ""
	case substitutes(value):
		return "its value holds a command that make and shells would run"
	case rule.plain && !isPlainWord(value):
		return "its value must be one word of letters, digits and _ . : + -"
	case name == "TZ":
		return j.faultOfPaths(value, slashIsText)
	case known:
		return ""
	}
	return j.faultOfUnknown(name, value)
}

// assignmentFault judges a variable that a command line passes to a program, as
// "env NAME=value program" does. Here the caller may set secrets of its own.
func assignmentFault(name, value string) string {
	j := newVariableJudge(Admission{World: systemOnly{}})
	rule, known := j.rules.named(name, ofCaller)
	switch {
	case known && !rule.keep:
		if j.tables.harmlessOptions(name, value, false) {
			return ""
		}
		return rule.why
	case known || value == "":
		return ""
	}
	return j.faultOfUnknown(name, value)
}

// systemOnly is a world that knows only where the system's own programs are.
type systemOnly struct{ World }

// Writable reports true outside of the system's own directories: nothing else
// is known of the machine here.
func (systemOnly) Writable(path string, _ Directory) bool {
	system := paths.Within(path, "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt")
	return !system || strings.Contains(path, "..") || paths.Within(path, "/usr/src", "/usr/local/src")
}

// faultOfUnknown judges a variable that has no row in the table.
func (j *variableJudge) faultOfUnknown(name, value string) string {
	kind := j.tables.harmless(name)
	switch kind {
	case anyPath:
		return ""
	case anyText:
		return j.faultOfPaths(value, slashIsText)
	case anyWord:
		if isSingleWord(value) {
			return ""
		}
	}
	class, switched := j.tables.classOf(name)
	if isSwitch(value) && (class != placeClass || switched) {
		return ""
	}
	switch class {
	case programClass:
		if isHarmlessProgram(value) {
			return ""
		}
		return "its name says that it names a program, and that program would be started"
	case optionsClass:
		if j.tables.harmlessOptions(name, value, true) {
			return ""
		}
		return "its name says that it holds options of a program, and not all of them are known to be harmless"
	case sourceClass:
		return "its name says that programs or packages are fetched from there"
	case trafficClass:
		return "its name says that traffic would go there"
	case placeClass:
		return j.faultOfPlace(value)
	}
	if kind == anyHost {
		return j.faultOfPaths(value, slashIsText)
	}
	return j.faultOfPaths(value, slashIsPath)
}

// faultOfPlace judges the value of a variable whose name says that programs
// load code from there. A relative path may be a single word, an empty item of
// a list is the working directory, and some programs treat \ as / and expand $.
func (j *variableJudge) faultOfPlace(value string) string {
	if isPEM(value) {
		return ""
	}
	value = strings.ReplaceAll(value, `\`, "/")
	if why := j.faultOfPaths(value, slashIsPath); why != "" {
		return why
	}
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if i := strings.Index(word, "://"); i > 0 && addresses[strings.ToLower(word[:i])] || strings.HasPrefix(word, "file:/") {
			continue
		}
		for piece := range strings.SplitSeq(word, ":") {
			if !strings.HasPrefix(piece, "/") && !strings.HasPrefix(piece, "~") {
				return faultRelative
			}
		}
	}
	if strings.HasPrefix(value, ";") || strings.HasSuffix(value, ";") || strings.Contains(value, ";;") {
		return faultRelative
	}
	return ""
}

const faultRelative = "its name says that programs load what lies there, and its value leads into the working directory, where commands may write"

// substitutes reports whether make or a shell would run a part of a value when
// it expands the variable; make treats every variable of its environment as a
// make variable.
func substitutes(value string) bool {
	if findSubstitution(value) != "" {
		return true
	}
	for rest := value; ; {
		i := strings.Index(rest, "${")
		if i < 0 {
			return false
		}
		rest = rest[i+2:]
		if name := strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz-"); name != rest && name != "" && isBlank(name[0]) {
			return true // ${shell …}
		}
	}
}

// isSwitch reports whether a value turns something on or off, or is a number.
func isSwitch(value string) bool {
	if slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "y", "n", "auto", "always", "never", "none"}, strings.ToLower(value)) {
		return true
	}
	return strings.Trim(value, "0123456789.-") == "" && strings.ContainsAny(value, "0123456789") && !strings.Contains(value, "..")
}

// isPlainWord reports whether a value contains nothing that a program could
// treat as a path, a list or code.
func isPlainWord(value string) bool {
	for i := range len(value) {
		if c := value[i]; !isName(c) && strings.IndexByte(".:+-", c) < 0 {
			return false
		}
	}
	return !strings.Contains(value, "..")
}

// isSingleWord reports whether a value is one word of letters and digits.
func isSingleWord(value string) bool {
	for i := range len(value) {
		if !isName(value[i]) && value[i] != '-' {
			return false
		}
	}
	return true
}
