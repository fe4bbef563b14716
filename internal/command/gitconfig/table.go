package gitconfig

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed keys.txt
var keysText string

// row is one line of keys.txt.
type row struct {
	key    string // as written in keys.txt
	values []rule // an entry with one of these values is harmless; if empty, no value is
	why    string
}

// pattern is the key of a row: in lower case, and "*" for any name.
type pattern struct {
	section string
	hasSub  bool
	name    string
}

// rows parses keys.txt once; a test makes sure that it can be parsed.
var rows = sync.OnceValue(func() map[pattern]*row {
	t, err := readRows(keysText)
	if err != nil {
		panic(err)
	}
	return t
})

// readRows parses keys.txt: keys, their allowed values, and why a key is
// harmless. A second row of one key is an error, because the order of rows must
// not decide.
func readRows(text string) (map[pattern]*row, error) {
	t := map[pattern]*row{}
	columns := regexp.MustCompile(` {2,}|\t+`)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		c := columns.Split(line, -1)
		if len(c) != 3 || c[2] == "" {
			return nil, fmt.Errorf("keys.txt: %q has not three columns", line)
		}
		values, err := readRules(c[1])
		if err != nil {
			return nil, fmt.Errorf("keys.txt: %q: %w", line, err)
		}
		for key := range strings.SplitSeq(c[0], ", ") {
			ps, err := readPatterns(key)
			if err != nil {
				return nil, err
			}
			for _, p := range ps {
				if t[p] != nil {
					return nil, fmt.Errorf("keys.txt: there are two rows of %s", key)
				}
				t[p] = &row{key, values, c[2]}
			}
		}
	}
	return t, nil
}

// readPatterns parses section.name, section.*.name or section.**.
func readPatterns(key string) ([]pattern, error) {
	part := strings.Split(strings.ToLower(key), ".")
	switch {
	case len(part) == 2 && part[1] == "**":
		return []pattern{{part[0], false, "*"}, {part[0], true, "*"}}, nil
	case len(part) == 2 && part[1] != "":
		return []pattern{{part[0], false, part[1]}}, nil
	case len(part) == 3 && part[1] == "*" && part[2] != "":
		return []pattern{{part[0], true, part[2]}}, nil
	}
	return nil, fmt.Errorf("keys.txt: %q is none of section.name, section.*.name, section.**", key)
}

// rowOf returns the row for an entry's key, or nil.
func rowOf(e *Entry) *row {
	t := rows()
	if r := t[pattern{e.Section, e.HasSub, e.Name}]; r != nil {
		return r
	}
	return t[pattern{e.Section, e.HasSub, "*"}]
}
