package language

import (
	"embed"
	"path"
	"strings"
)

// A preset is a file presets/NAME.yaml, which policies name in extends as
// preset:NAME. It only adds ask and deny:
//
//	preset: git                  # the name of the file
//	version: 1                   # counts changes to the rules
//	about: One sentence.
//	strict: true                 # optional: it stops what is ordinary work elsewhere
//	commands:
//	  git|hub:                   # programs by name
//	    text_flags: [commit -m]  # optional: values of these are text; words in front name the subcommand
//	    ask: […]                 # as deny
//	    deny:
//	      - rule: push --force|-f       # required
//	        id: git/force-push          # required, unique within the preset, begins with its name
//	        why: Full sentences.        # required
//	        match: [git push -f]        # required: command lines with the program in front
//	        not_match: [git push]       # required, except for the rule "*"
//
// A rule matches what a command contains. Its words must be there in this
// order, and its options anywhere before "--" in any spelling: --opt=x, --opt x,
// -o in a cluster -xo, -ovalue, abbreviations --op. An option with one dash and
// several letters (-exec, -delete) is one option for programs that are known to
// write them so (find, go, java, openssl …), and otherwise several one-letter
// options. internal/command/programs has these styles. With subcommands, a first word
// that looks like a name counts only as the subcommand; otherwise words count
// anywhere among the operands. A word after an option may be its value or an
// operand: "-c alias.*" matches -c alias.x=y, -calias.x=y and --c… alike.
//
// In any token: a|b is either; * inside stands for any text; * alone is any one
// argument; {path} is an argument inside the roots, {int} a number,
// {url:https://x/*}, {file:*.py}. ^ before an option: only before the first
// operand, where it is the program's own. {text:…}, {not:…}, {first:…},
// {outside} and {code:…} are conditions on arguments (special.go).
//
// The rule "*" matches every command of the program. Examples are split as a
// POSIX shell would split them, and are checked against their own rule alone.
//
//go:embed presets/*.yaml
var presetFiles embed.FS

// presetPrefix marks a preset in extends.
const presetPrefix = "preset:"

// Presets returns the names of the built-in presets, in order.
func Presets() []string {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		return nil // cannot happen: the directory is embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// PresetText returns the text of a preset, for people to read.
func PresetText(name string) ([]byte, bool) {
	if strings.Contains(name, "/") {
		return nil, false
	}
	data, err := presetFiles.ReadFile(path.Join("presets", name+".yaml"))
	return data, err == nil
}
