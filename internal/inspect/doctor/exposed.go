package doctor

import (
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/protected"
)

// Exposed is one of tipstaff's own files that commands may change.
type Exposed struct {
	File    string `json:"file"`
	Setting string `json:"setting"`
	Why     string `json:"why"`
}

// ExposedOf lists the files that a keeper finds exposed under the constraints
// w. The list is empty and not nil if there are none.
func ExposedOf(k *protected.Registry, w protected.Confinement) []Exposed {
	list := []Exposed{}
	for _, e := range k.Exposed(w) {
		list = append(list, Exposed{e.Path, e.Setting, e.Reason})
	}
	return list
}

// ExposedFindings describes exposed files, and what to do about them.
func ExposedFindings(list []Exposed) []Finding {
	var all []Finding
	for i, e := range list {
		f := doubt("own files: %s (%s): %s; it is read at the start and when a person says so, not when it changes", cmdline.Escape(e.File), e.Setting, cmdline.Escape(e.Why))
		if i == len(list)-1 {
			f = f.note("%s", protected.Advice)
		}
		all = append(all, f)
	}
	return all
}
