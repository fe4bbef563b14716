package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// The man pages are made from the commands by a test, so that their library is
// not part of the program: make man.
var (
	manDir  = flag.String("man", "", "write the man pages into this `directory`")
	manDate = flag.String("man-date", "2026-01-01", "their date")
)

// TestEveryCommandHasAManPage, which says what its help says, and whose text no
// typesetter takes for commands of its own.
func TestEveryCommandHasAManPage(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	date, err := time.Parse(time.DateOnly, *manDate)
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot([]string{"man"})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	each(root, func(c *cobra.Command) {
		c.DisableAutoGenTag = true
		c.Short, c.Long = asMarkdown(c.Short), asMarkdown(c.Long)
	})
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "tipstaff", Manual: "tipstaff"}
	if err := doc.GenManTree(root, &header, dir); err != nil {
		t.Fatal(err)
	}
	for _, topic := range root.Commands() { // which the library leaves out
		if topic.IsAdditionalHelpTopicCommand() {
			writeTopic(t, topic, header, filepath.Join(dir, "tipstaff-"+topic.Name()+".1"))
		}
	}
	each(root, func(c *cobra.Command) {
		if !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		for _, word := range []string{"ALLOWED_COMMANDS", "TIPSTAFF_CONFIG"} {
			if strings.Contains(c.Long, word) && !strings.Contains(strings.ReplaceAll(string(page), `\`, ""), word) {
				t.Errorf("%s does not say %s as the help does", name, word)
			}
		}
	})
}

func writeTopic(t *testing.T, topic *cobra.Command, header doc.GenManHeader, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) {
		return // a command has the name, too
	}
	if err == nil {
		err = errors.Join(doc.GenMan(topic, &header, f), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func each(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		each(sub, do)
	}
}

// asMarkdown keeps the lines of a help text as they are where they are indented,
// and what Markdown would take for its own everywhere: the library reads texts as
// Markdown.
func asMarkdown(text string) string {
	var out strings.Builder
	after := ""
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, "  ")
		if indented && after == "text" {
			out.WriteString("\n")
		}
		switch {
		case indented:
			out.WriteString("    " + line)
			after = "code"
		case strings.TrimSpace(line) == "":
			out.WriteString(line)
			after = ""
		default:
			out.WriteString(strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`, "]", `\]`).Replace(line))
			after = "text"
		}
	}
	return out.String()
}
