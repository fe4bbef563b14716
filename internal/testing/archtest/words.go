package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// mostSharers is the number of packages that may declare one type name without a row.
const mostSharers = 3

// Words is the content of words.txt.
type Words struct {
	Shared  []Word // type names that more packages may declare
	Banned  []Word // the meaning is the word to use instead
	Renamed []Rename
	Terms   []Terms
}

// Word is a row. Shared words with a meaning are in the glossary, too.
type Word struct {
	Line    int
	Name    string
	Why     string
	Meaning string
}

// Rename is a row of the section "until renamed": a type that some packages still have.
type Rename struct {
	Line     int
	Name     string
	Packages []string
}

// Terms is a section of the glossary.
type Terms struct {
	Title string
	Words []Word
}

// ParseWords reads the text of words.txt. Its errors name the line.
func ParseWords(text string) (*Words, error) {
	w := &Words{}
	return w, eachRow("words.txt", text, w.add)
}

func (w *Words) add(section string, line int, cols []string) error {
	word := Word{Line: line, Name: cols[0]}
	title, isTerms := strings.CutPrefix(section, "terms: ")
	switch {
	case section == "shared" && (len(cols) == 2 || len(cols) == 3):
		word.Why = cols[1]
		if len(cols) == 3 {
			word.Meaning = cols[2]
		}
		w.Shared = append(w.Shared, word)
	case section == "banned" && len(cols) == 2:
		word.Meaning = cols[1]
		w.Banned = append(w.Banned, word)
	case section == "until renamed" && len(cols) == 2:
		w.Renamed = append(w.Renamed, Rename{line, cols[0], list(cols[1])})
	case isTerms && len(cols) == 2:
		word.Meaning = cols[1]
		if n := len(w.Terms); n == 0 || w.Terms[n-1].Title != title {
			w.Terms = append(w.Terms, Terms{Title: title})
		}
		last := &w.Terms[len(w.Terms)-1]
		last.Words = append(last.Words, word)
	default:
		return fmt.Errorf("no section %q has rows of %d columns; there are shared (name, why, perhaps what it means), banned (word, what to use instead), until renamed (name, packages) and terms: TITLE (word, what it means)", section, len(cols))
	}
	return nil
}

// CheckWords reports type names that too many packages declare, and names of types and
// packages that use a banned word. Case is ignored: Answer and answer are one name. What
// the plan keeps outside of the product counts for banned words only.
func CheckWords(words *Words, plan *Plan, files []File) []Fault {
	c := &checker{plan: plan}
	declared := c.typeNames(words, files)
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		packages := slices.Sorted(maps.Keys(declared[name]))
		if len(words.renamed(name)) > 0 || words.shared(name) || len(packages) <= mostSharers {
			continue
		}
		first := declared[name][packages[0]]
		c.fault(first.file, first.line, "words", "%d packages declare a type %s: %s. Use the word that says which kind is meant, or add the name to the section shared of words.txt and give the reason.", len(packages), name, strings.Join(packages, ", "))
	}
	for _, word := range words.Shared {
		if n := len(declared[word.Name]); n <= mostSharers {
			c.fault("words.txt", word.Line, "words", "%d packages declare a type %s, which needs no row. Delete it, or move it to a section of terms if the glossary needs it.", n, word.Name)
		}
	}
	c.bannedPackages(words)
	return c.faults
}

type declaration struct {
	file string
	line int
}

// typeNames collects the packages of each type name, in lower case, and reports names
// with banned words on its way.
func (c *checker) typeNames(words *Words, files []File) map[string]map[string]declaration {
	declared := map[string]map[string]declaration{}
	for _, f := range files {
		pkg, known := c.plan.Package(f.Package())
		if f.Test || !known {
			continue
		}
		for _, t := range f.Types {
			name := strings.ToLower(t.Name)
			if pkg.Floor != outside {
				add(declared, name, pkg.Path, declaration{f.Path, t.Line})
			}
			banned, found := words.banned(t.Name)
			if found && !slices.Contains(words.renamed(name), pkg.Path) {
				c.fault(f.Path, t.Line, "words", "the name of the type %s has the word %q, which has meant too many things here. Use the field's word: %s.", t.Name, banned.Name, banned.Meaning)
			}
		}
	}
	return declared
}

func (c *checker) bannedPackages(words *Words) {
	for _, pkg := range c.plan.Packages {
		name := pkg.Path[strings.LastIndex(pkg.Path, "/")+1:]
		if banned, found := words.banned(name); found {
			c.fault("floors.txt", pkg.Line, "words", "the name of the package %s has the word %q, which has meant too many things here. Use the field's word: %s.", pkg.Path, banned.Name, banned.Meaning)
		}
	}
}

// renamed returns the packages whose type of this name is still to be renamed.
func (w *Words) renamed(name string) []string {
	for _, row := range w.Renamed {
		if strings.EqualFold(row.Name, name) {
			return row.Packages
		}
	}
	return nil
}

func (w *Words) shared(name string) bool {
	return slices.ContainsFunc(w.Shared, func(s Word) bool { return s.Name == name })
}

// banned returns the banned word that is a part of a name, also in the plural. Parts
// begin with a capital letter, so that gateway has no "way".
func (w *Words) banned(name string) (Word, bool) {
	for part := range strings.FieldsSeq(spaced(name)) {
		part = strings.ToLower(part)
		i := slices.IndexFunc(w.Banned, func(b Word) bool { return part == b.Name || part == b.Name+"s" })
		if i >= 0 {
			return w.Banned[i], true
		}
	}
	return Word{}, false
}

// spaced puts a blank before each capital letter.
func spaced(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Settle returns the text of words.txt without what the code does not need any more:
// rows and packages of the section "until renamed", and shared names without a meaning
// that few packages have.
func (w *Words) Settle(text string, plan *Plan, files []File) string {
	declared := (&checker{plan: plan}).typeNames(w, files)
	lines := strings.Split(text, "\n")
	const deleted = "\x00"
	for _, row := range w.Renamed {
		kept := slices.DeleteFunc(slices.Clone(row.Packages), func(pkg string) bool {
			return !slices.ContainsFunc(files, func(f File) bool { return f.declares(pkg, row.Name) })
		})
		_, banned := w.banned(row.Name)
		if len(kept) == 0 || !banned && len(declared[strings.ToLower(row.Name)]) <= mostSharers {
			lines[row.Line-1] = deleted
			continue
		}
		lines[row.Line-1] = strings.Replace(lines[row.Line-1], strings.Join(row.Packages, ", "), strings.Join(kept, ", "), 1)
	}
	for _, row := range w.Shared {
		if row.Meaning == "" && len(declared[row.Name]) <= mostSharers {
			lines[row.Line-1] = deleted
		}
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == deleted }), "\n")
}

func (f *File) declares(pkg, name string) bool {
	return f.Package() == pkg && !f.Test && slices.ContainsFunc(f.Types, func(t TypeName) bool { return strings.EqualFold(t.Name, name) })
}

// Glossary is the text of the glossary.
func (w *Words) Glossary() string {
	var b strings.Builder
	for _, terms := range w.Terms {
		fmt.Fprintf(&b, "### %s\n\n", terms.Title)
		for _, word := range terms.Words {
			fmt.Fprintf(&b, "- **%s**: %s\n", word.Name, word.Meaning)
		}
		b.WriteString("\n")
	}
	shared := slices.DeleteFunc(slices.Clone(w.Shared), func(s Word) bool { return s.Meaning == "" })
	if len(shared) > 0 {
		b.WriteString("### Words of several packages\n\n")
		for _, word := range shared {
			fmt.Fprintf(&b, "- **%s**: %s\n", word.Name, word.Meaning)
		}
	}
	return b.String()
}
