package cmdline

import "strings"

// Pattern is a word with unquoted *, ? or […].
type Pattern struct {
	Text   string // the word, which is literal if nothing matches
	Index  int    // of the word in its line
	Column int    // where it begins, in characters from 1

	segments []segment
}

// Files are the files that a pattern is compared with. Paths are as a pattern
// writes them: "" is the directory of the command, "src/" one below it. What does
// not exist is no error. An error says that it cannot be told.
type Files interface {
	// List returns the names in a directory, . and .. among them; none if it is
	// no directory that the command can read.
	List(dir string) ([]string, error)
	// Exists reports whether there is something of that name; after a name that
	// ends with a slash, whether it leads to a directory.
	Exists(path string) (bool, error)
	// CheckBounds returns an error when no more names are to be compared.
	CheckBounds() error
}

// Find returns names that a shell would put in the place of the pattern, no more
// than most. Without an error, none means that a shell would leave it as text.
//
// A shell is bash 5.2 or dash with their default settings, in any locale. Where
// they differ, it is enough that one of them would take a name: .* has matched .
// and .. in bash until 5.1, and does in dash.
func (p *Pattern) Find(files Files, most int) ([]string, error) {
	s := search{files: files, most: most}
	err := s.below("", p.segments)
	return s.matches, err
}

type search struct {
	files   Files
	most    int
	matches []string
}

// below looks for the rest of a pattern behind a path, which is "" or ends with a
// slash.
func (s *search) below(path string, rest []segment) error {
	for len(rest) > 0 && rest[0].literal {
		path += rest[0].text
		rest = rest[1:]
		if len(rest) > 0 {
			path += "/"
		}
	}
	if len(rest) == 0 {
		return s.add(path)
	}
	names, err := s.files.List(path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.files.CheckBounds(); err != nil {
			return err
		}
		if !rest[0].matches(name) {
			continue
		}
		if len(rest) == 1 {
			s.matches = append(s.matches, path+name)
		} else if err := s.below(path+name+"/", rest[1:]); err != nil {
			return err
		}
		if len(s.matches) >= s.most {
			return nil
		}
	}
	return nil
}

// add adds a path without signs at its end, if it exists.
func (s *search) add(path string) error {
	exists, err := s.files.Exists(path)
	if exists && err == nil {
		s.matches = append(s.matches, path)
	}
	return err
}

// Hint says what to do instead of the pattern, whose words are at fault if it
// matches.
func (p *Pattern) Hint(o Offer) string {
	return `Name the files. If the pattern is text for the program, put it in single quotes: ` + single(excerpt(p.Text)) + `.` + o.expanding()
}

// Shown returns the pattern as an error shows it.
func (p *Pattern) Shown() string { return Escape(excerpt(strings.ToValidUTF8(p.Text, "\uFFFD"))) }
