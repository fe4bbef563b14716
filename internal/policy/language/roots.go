package language

import (
	"slices"
	"strings"

	"tipstaff/internal/command/programs"
)

// leadOutside reports whether one of the texts of a command leads outside of the
// roots. A script of sed or awk that can be followed is none of them: what looks
// like a path in it is a pattern.
func (r *reading) leadOutside(raw []string, f Facts) bool {
	var scripts []string
	for _, text := range raw {
		if !leadsOut(text, f) && !r.globsOut(text, f) {
			continue
		}
		if scripts == nil {
			scripts = r.scripts()
		}
		if !slices.Contains(scripts, text) {
			return true
		}
	}
	return false
}

// globsOut reports whether one of the names that a program makes of {a,b} and #1
// leads outside.
func (r *reading) globsOut(text string, f Facts) bool {
	if strings.Contains(text, "://") || !strings.ContainsAny(text, "{[#") {
		return false
	}
	names, whole := r.names(text)
	return !whole || slices.ContainsFunc(names, func(t string) bool { return leadsOut(t, f) })
}

// scripts returns the scripts among the arguments that only edit text; never
// nil.
func (r *reading) scripts() []string {
	out := []string{}
	if name := programs.Find(r.style.program); name == nil || !name.Edits() {
		return out
	}
	for _, a := range programs.Read(r.style.program, r.words(), programs.Position{}).Acts {
		language := a.Of
		if language == "sed" {
			language = "sed-files"
		}
		if a.Kind == programs.RunsCode && programs.CodeStarts(language, a.Text) == "" {
			out = append(out, a.Text)
		}
	}
	return out
}

// leadsOut reports whether a text, or a path in it, leads outside of the roots.
// Paths stand behind the signs with which programs write names in front of
// them: x=/etc, f=@/etc/x;type=y, @/etc/x, f=</etc/x, a,/etc/x.
func leadsOut(text string, f Facts) bool {
	if outside(text, f) {
		return true
	}
	signs := "=@<,;"
	first := strings.IndexAny(text, signs)
	if first < 0 {
		return false
	}
	if strings.HasPrefix(text, "--") && !strings.Contains(text, "://") {
		signs += ":" // --report=html:/x
	}
	for part := range strings.FieldsFuncSeq(text[first:], func(c rune) bool { return strings.ContainsRune(signs, c) }) {
		part = strings.Trim(part, `"'`)
		if part != "" && (part[0] == '/' || part[0] == '~' || climbs(part)) && outside(part, f) {
			return true
		}
	}
	return false
}

// outside reports whether an argument could be a path that leads outside the
// roots. An absolute one with characters that only programs and patterns have
// (/^$/d) is not treated as a path, unless it contains "..".
func outside(text string, f Facts) bool {
	const longest = 4096 // the longest path that the kernel accepts
	text = strings.TrimPrefix(text, "@")
	if scheme := strings.ToLower(text[:min(len(text), 5)]); scheme == "file:" {
		text = "/" + strings.TrimLeft(text[5:], "/")
	}
	switch {
	case text == "" || text[0] == '-' || len(text) > longest || strings.Contains(text, "://"):
		return false
	case text == "/dev/null", text == "/dev/stdout", text == "/dev/stderr", text == "/dev/stdin":
		return false
	case text[0] == '~':
		return true
	case text[0] == '/' && !climbs(text) && strings.ContainsAny(text, "{}()$^*\\|;<>\"'&! \n"):
		return false
	}
	return !f.Inside(text)
}
