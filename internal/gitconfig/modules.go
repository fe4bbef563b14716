package gitconfig

import (
	"strings"
)

// Modules gives what of a file .gitmodules could make git run a program, or
// write outside of the work tree. git itself refuses most of it; versions that
// did not were attacked in these ways. The file is tracked: a command may
// write it, and what is found is for people to know.
func Modules(text []byte) []Finding {
	var fs findings
	entries, err := Parse(text)
	if err != nil {
		fs.add(func() Finding { return Finding{What: ".gitmodules cannot be read", Why: err.Error()} })
	}
	for i := range entries {
		e := &entries[i]
		if e.Section != "submodule" || !e.HasSub {
			continue
		}
		if why := moduleFault(e); why != "" {
			fs.add(func() Finding {
				return Finding{shown(e.Key()), "in .gitmodules is not to be trusted", why, "change it before git submodule update"}
			})
		}
	}
	return fs.all()
}

func moduleFault(e *Entry) string {
	if leaves(e.Sub) {
		return "the name of the submodule leads out of .git/modules"
	}
	switch {
	case e.Name == "update" && strings.HasPrefix(e.Value, "!"):
		return "git submodule update would run it"
	case e.Name == "url":
		return addressFault(e.Value)
	case e.Name == "path" && (leaves(e.Value) || strings.HasPrefix(e.Value, "/")):
		return "the path leads out of the work tree"
	case (e.Name == "path" || e.Name == "branch") && !isPlain(e.Value):
		return `it begins with "-", so that git could take it for an option, or holds a control character`
	}
	return ""
}

// leaves reports whether a relative path has a step upwards.
func leaves(p string) bool {
	for step := range strings.FieldsFuncSeq(p, func(c rune) bool { return c == '/' || c == '\\' }) {
		if step == ".." {
			return true
		}
	}
	return false
}
