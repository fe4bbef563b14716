//go:build linux

package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"tipstaff"
)

// cause is one way in which the sandbox stops programs, and how programs report it.
type cause struct {
	// words are in what a program prints, in lower case: each line that explain can
	// explain has one of them. They are searched for in all output of commands, so
	// they should be rare and have at least wordBytes.
	words []string
	// proven says that explain has checked the machine: what it says is true even
	// if the command succeeded and the line is part of its normal output.
	proven bool
	// explain returns a sentence about what the sandbox refused; "" if the cause
	// was something else.
	explain func(*Confined, remark) string
}

// remark is a line of what a program printed.
type remark struct {
	line      []byte
	text      []byte   // the end of the output that the line is in
	explained []string // what was said about the command before
}

// explains reports whether the guard has already said why it protected a file.
func (p remark) explains(path string) bool {
	return slices.ContainsFunc(p.explained, func(t string) bool { return strings.Contains(t, path+" stays as it is") })
}

// causes are in the order in which a line is explained: the first one that has an
// explanation counts.
var causes = []cause{
	{words: socketWords, explain: (*Confined).whyNoSocket},
	{words: tracingWords, explain: (*Confined).whyNoTracing},
	{words: pushWords, proven: true, explain: (*Confined).whyNotPushed},
	{words: ownerWords, explain: (*Confined).whyNotOwner},
	{words: attributeWords, explain: (*Confined).whyNoAttributes},
	{words: networkWords, explain: (*Confined).whyNoNetwork},
	{words: pathWords, proven: true, explain: (*Confined).whyNoPath},
	{words: temporaryWords, proven: true, explain: (*Confined).whyNotInTmp},
}

var causeWords = sync.OnceValue(func() *wordSearch {
	var words [][]string
	for _, c := range causes {
		words = append(words, c.words)
	}
	return newWordSearch(words)
})

const (
	// explainedBytes is how much of the end of each output is searched.
	explainedBytes = 4 << 10
	// explainedLines is how many complaints are explained.
	explainedLines = 3
)

// Explain adds to a result what the sandbox is known to have refused, so that a
// caller does not repair what is not broken, and names the limit that ended a
// command. It adds nothing where it does not know.
func (c *Confined) Explain(r *tipstaff.Result) {
	if c.sandbox == nil {
		return
	}
	c.explainLimit(r)
	for _, h := range c.session.takeRefused() {
		r.Refusals = append(r.Refusals, "The sandbox refused a connection: "+strings.TrimSuffix(h.why, ".")+".")
		r.MissedNetwork = true
	}
	c.explainSockets(r)
	c.explainGuard(r)
	c.explainTemporary(r)
	if r.Cause == tipstaff.Cancelled {
		return
	}
	sentences := c.explainOutput(r, lastOf(r.Stderr), true, nil)
	sentences = c.explainOutput(r, lastOf(r.Stdout), r.ExitCode != 0, sentences)
	if len(sentences) == 0 {
		c.explainSilence(r)
	}
}

// explainOutput explains complaints at the end of an output. If the command
// succeeded, the output may be a text about something else; then only what is proven
// is said. said is what was said before.
func (c *Confined) explainOutput(r *tipstaff.Result, text []byte, sure bool, sentences []string) []string {
	found := causeWords().find(text)
	if found == 0 {
		return sentences
	}
	for line := range bytes.Lines(text) {
		for i, cause := range causes {
			if found&(1<<i) == 0 || !sure && !cause.proven {
				continue
			}
			why := cause.explain(c, remark{line, text, r.Refusals})
			if why == "" {
				continue
			}
			if !slices.Contains(sentences, why) && len(sentences) < explainedLines {
				sentences = append(sentences, why)
				r.Refusals = append(r.Refusals, why)
				r.MissedNetwork = r.MissedNetwork || why == c.networkSentence()
			}
			break
		}
	}
	return sentences
}

func lastOf(s tipstaff.Stream) []byte {
	text := s.Head
	if s.Dropped > 0 {
		text = s.Tail
	}
	return text[max(0, len(text)-explainedBytes):]
}

// takeRefused returns the hosts that were refused since the last call.
func (sess *sessionSandbox) takeRefused() []refusal {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	list := slices.Compact(sess.refused)
	sess.refused = nil
	return list
}
