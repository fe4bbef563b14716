package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/module"
)

// old is the module's path in the tree.
const old = "tipstaff"

var (
	// A path of a package of ours. "tipstaff" alone is the program's name, and so
	// are paths of files that end with it.
	packagePath = regexp.MustCompile(`(^|[^\w./-])` + old + `/(internal|cmd|e2e|packaging|tools)\b`)
	moduleLine  = regexp.MustCompile(`(?m)^module ` + old + `(/\S+)?$`)
	// What go doc prints of the root package.
	importComment = regexp.MustCompile(`// import "` + old + `"`)
)

// rewrite changes the import paths below dir, and returns the number of files.
func rewrite(path, dir string) (int, error) {
	if err := module.CheckPath(path); err != nil {
		return 0, err
	}
	if base := path[strings.LastIndexByte(path, '/')+1:]; base != old {
		return 0, fmt.Errorf("the last element of %s is not %s, the name of the root package", path, old)
	}
	changed := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		before, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		after, err := renamed(filepath.ToSlash(name), string(before), path)
		if err != nil || after == string(before) {
			return err
		}
		changed++
		return os.WriteFile(name, []byte(after), 0o600) // the mode of a file that is there stays
	})
	return changed, err
}

// renamed returns the text of a file with the new path. Documents and scripts name
// packages by their directories, so they stay as they are.
func renamed(name, text, path string) (string, error) {
	switch {
	case strings.HasSuffix(name, "/go.mod"):
		return moduleLine.ReplaceAllString(text, "module "+path+"${1}"), nil
	case strings.HasSuffix(name, ".go"):
		if !strings.Contains(name, "/testdata/") {
			var err error
			if text, err = renameImports(name, text, path); err != nil {
				return "", err
			}
		}
	case strings.HasSuffix(name, "/floors.txt"), strings.HasSuffix(name, "/api.txt"):
	default:
		return text, nil
	}
	text = importComment.ReplaceAllString(text, `// import "`+path+`"`)
	return packagePath.ReplaceAllString(text, "${1}"+path+"/${2}"), nil
}

// renameImports changes imports of the root package; the path of any other package is
// found in the text.
func renameImports(name, text, path string) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ImportsOnly)
	if err != nil {
		return "", err
	}
	for _, spec := range slices.Backward(file.Imports) {
		if spec.Path.Value == strconv.Quote(old) {
			at := fset.Position(spec.Path.Pos()).Offset
			text = text[:at] + strconv.Quote(path) + text[at+len(spec.Path.Value):]
		}
	}
	return text, nil
}
