package console

import "strings"

// piece is a part of a page that is shown anew: live.js puts it into the element
// with that id.
type piece struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// ageless returns a piece without the ages in it, which a script in the page counts
// on: a piece in which nothing else has changed is not sent again. What looks like
// an age in the text of a command is none, because > is escaped there.
func ageless(html string) string {
	var b strings.Builder
	for {
		at := strings.Index(html, "data-age>")
		if left := strings.Index(html, "data-left>"); at < 0 || left >= 0 && left < at {
			at = left
		}
		if at < 0 {
			b.WriteString(html)
			return b.String()
		}
		end := strings.Index(html[at:], "</time>")
		if end < 0 {
			b.WriteString(html)
			return b.String()
		}
		b.WriteString(html[:at])
		html = html[at+end:]
	}
}
