package language

import (
	"slices"
	"strings"
	"testing"
)

func TestFilesThatSteerOthersAreLeftToCommandsByPattern(t *testing.T) {
	for text, want := range map[string][]string{
		"control: {allow: .husky/**}":                                  {".husky/**"},
		"control: {allow: [.vscode/*.json, core.hooksPath=.githooks]}": {".vscode/*.json", ".githooks/**"},
		"control: {}":   nil,
		"default: deny": nil,
	} {
		p, err := Load([]byte("version: 1\n"+text+"\n"), "policy.yaml", Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Control(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	for bad, says := range map[string]string{
		"/etc/**":               "leads out of the work tree",
		"../x":                  "leads out of the work tree",
		"core.hooksPath=/x":     "leads out of the work tree",
		"core.hooksPath=..":     "leads out of the work tree",
		"**":                    "takes in everything",
		"*/hooks":               "takes in everything",
		"core.hooksPath=.":      "takes in everything",
		".git/hooks/**":         "git's own directory",
		".gi?/hooks":            "git's own directory",
		"core.hooksPath=.git/x": "git's own directory",
		"core.fsmonitor=x":      "no key that can be left to commands",
		".husky/[":              "no pattern",
	} {
		_, err := Load([]byte("version: 1\ncontrol: {allow: [\""+bad+"\"]}\n"), "policy.yaml", Options{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
