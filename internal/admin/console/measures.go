package console

import (
	"fmt"
	"html/template"
	"time"
)

// shownAge returns how long d is, in the two largest units.
func shownAge(d time.Duration) string {
	switch s := int64(d / time.Second); {
	case s < 0:
		return "0 s"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%d d %d h", s/86400, s/3600%24)
	}
}

// shownAgo returns the age of t as an element that a script keeps true.
func shownAgo(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-age>%s</time>`, t.UTC().Format(time.RFC3339Nano), shownAge(time.Since(t))))
}

// shownBytes returns n in the unit in which it has at most three digits before
// the point.
func shownBytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 || f >= 100 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// mark is the sign of a state. Each has a shape of its own, so that no state is
// told by its colour alone; a word stands beside it.
func mark(state string) template.HTML {
	shapes := map[string]string{
		"runs":   `<path d="M4 2.5 13.5 8 4 13.5z"/>`,
		"waits":  `<path d="M8 1 15 8 8 15 1 8z"/>`,
		"ended":  `<rect x="3" y="3" width="10" height="10" rx="1"/>`,
		"failed": `<path d="M4 1h8l3 3v8l-3 3H4l-3-3V4z"/>`,
		"frozen": `<path d="M8 1v14M2 4.5l12 7M14 4.5l-12 7" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>`,
		"idle":   `<circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="2"/>`,
		"good":   `<path d="M2 8.5 6 12.5 14 3.5" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/>`,
	}
	shape, ok := shapes[state]
	if !ok {
		state, shape = "idle", shapes["idle"]
	}
	return template.HTML(`<svg class="mark mark-` + state + `" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">` + shape + `</svg>`)
}

// shownLeft returns how long it is until t, as an element that a script keeps true.
func shownLeft(t time.Time) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-left>%s</time>`, t.UTC().Format(time.RFC3339Nano), shownAge(time.Until(t))))
}
