package doctor

import (
	"tipstaff/internal/argv"
	"tipstaff/internal/own"
)

// Exposed is a file of tipstaff's own that commands may change.
type Exposed struct {
	File    string `json:"file"`
	Setting string `json:"setting"`
	Why     string `json:"why"`
}

// ExposedOf lists what a keeper finds exposed behind these walls. The list is
// empty and not nil where nothing is.
func ExposedOf(k *own.Keeper, w own.Walls) []Exposed {
	list := []Exposed{}
	for _, e := range k.Exposed(w) {
		list = append(list, Exposed{e.Path, e.Setting, e.Reason})
	}
	return list
}

// ExposedFindings tell of exposed files, and what to do about them.
func ExposedFindings(list []Exposed) []Finding {
	var all []Finding
	for i, e := range list {
		f := doubt("own files: %s (%s): %s; it is read at the start and when a person says so, not when it changes", argv.Escape(e.File), e.Setting, argv.Escape(e.Why))
		if i == len(list)-1 {
			f = f.note("%s", own.Advice)
		}
		all = append(all, f)
	}
	return all
}
