//go:build linux

package interp

import (
	"io/fs"
	"slices"
	"strings"
)

// glob appends the names that a field matches, or the field itself.
func (s *Shell) glob(list []string, f []piece) ([]string, error) {
	text := join(f)
	if s.options.noglob || !s.magic(f) {
		return append(list, text), nil
	}
	p := patternOf(f)
	var found []string
	if strings.HasPrefix(p, "/") {
		rest := strings.TrimLeft(p, "/")
		found = s.below(p[:len(p)-len(rest)], rest, nil)
	} else {
		found = s.below("", p, nil)
	}
	if len(found) > 0 {
		slices.Sort(found)
		return append(list, found...), nil
	}
	switch {
	case s.options.failglob:
		return nil, discard("no match: %s", text)
	case s.options.nullglob:
		return list, nil
	}
	return append(list, text), nil
}

// magic reports whether a field is a pattern for names.
func (s *Shell) magic(f []piece) bool {
	bracket := false
	for _, p := range f {
		if p.quoted {
			continue
		}
		if strings.ContainsAny(p.text, "*?") || s.options.extglob && strings.Contains(p.text, "(") {
			return true
		}
		bracket = bracket || strings.Contains(p.text, "[")
	}
	return bracket && hasSet(patternOf(f))
}

// hasSet reports whether a pattern has a bracket expression.
func hasSet(p string) bool {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			if end, _ := (matching{}).set(p[i:], 0); end > 0 && !strings.Contains(p[i:i+end], "/") {
				return true
			}
		}
	}
	return false
}

// hasMagic is magic for a part of a pattern.
func (s *Shell) hasMagic(p string) bool {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '(':
			if s.options.extglob {
				return true
			}
		}
	}
	return hasSet(p)
}

// below appends the paths under a directory, "" for the current one, that match.
func (s *Shell) below(dir, pattern string, list []string) []string {
	if len(list) > maxFields {
		return list
	}
	part, rest, more := strings.Cut(pattern, "/")
	slashes := ""
	for more && strings.HasPrefix(rest, "/") {
		slashes, rest = slashes+"/", rest[1:]
	}
	if part == "**" && s.options.globstar {
		return s.deep(dir, rest, more, list)
	}
	if !s.hasMagic(part) {
		name := unescape(part)
		if !more {
			if _, err := stat(s.dir, dir+name, false); err == nil || name == "" && dir != "" {
				return append(list, dir+name)
			}
			return list
		}
		if st, err := stat(s.dir, dir+name+"/", true); err != nil || st == nil {
			return list
		}
		return s.below(dir+name+"/"+slashes, rest, list)
	}
	for _, e := range s.names(dir) {
		name := e.Name()
		if !s.named(part, name) {
			continue
		}
		if !more {
			list = append(list, dir+name)
		} else if s.isDirectory(dir+name, e) {
			list = s.below(dir+name+"/"+slashes, rest, list)
		}
	}
	return list
}

// named reports whether a pattern matches a name in a directory.
func (s *Shell) named(pattern, name string) bool {
	m := s.matching()
	m.fold, m.path = s.options.nocaseglob, !s.options.dotglob
	return matches(pattern, name, m)
}

// deep is the pattern ** with shopt -s globstar: this directory and all below.
func (s *Shell) deep(dir, rest string, more bool, list []string) []string {
	for more && (rest == "**" || strings.HasPrefix(rest, "**/")) {
		rest, more = strings.CutPrefix(strings.TrimPrefix(rest, "**"), "/")
	}
	if more {
		list = s.below(dir, rest, list)
	} else if dir != "" {
		list = append(list, dir)
	}
	for _, e := range s.names(dir) {
		name := e.Name()
		if !s.options.dotglob && strings.HasPrefix(name, ".") {
			continue
		}
		switch {
		case e.IsDir() && more:
			list = s.deep(dir+name+"/", rest, more, list)
		case e.IsDir():
			list = append(list, dir+name)
			n := len(list)
			list = s.deep(dir+name+"/", rest, more, list)
			list = slices.Delete(list, n, n+1) // itself with its slash
		case !more:
			list = append(list, dir+name)
		}
	}
	return list
}

func (s *Shell) names(dir string) []fs.DirEntry {
	if dir == "" {
		dir = "."
	}
	list, err := entries(s.dir, dir)
	if err != nil {
		return nil
	}
	return list
}

func (s *Shell) isDirectory(path string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	st, err := stat(s.dir, path+"/.", true)
	return err == nil && st != nil
}

func unescape(p string) string {
	if strings.IndexByte(p, '\\') < 0 {
		return p
	}
	var t strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		t.WriteByte(p[i])
	}
	return t.String()
}
