package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tipstaff/internal/nearest"
	"tipstaff/internal/server/config"
)

// A variable that is meant to be a setting and is none would do nothing, and a bound
// that does nothing looks like one that holds. So it is an error:
//
//   - TIPSTAFF_ and TERMINAL_ are tipstaff's: every name with them that is no setting is
//     misspelt, but for what [config.Unknown] leaves out. Another program may have
//     TERMINAL_ variables of its own (some agents do), but TERMINAL_TIMEOUT=5 could be
//     meant for either, and nobody could tell that it bounds nothing here. The message
//     says how tipstaff is started without one.
//   - ALLOWED_ and ENABLE_ belong to too many. Such a name is misspelt if it is near to a
//     setting: a few slips of the keys in what follows the prefix, or the beginning of
//     one.
//   - Other names are misspelt if they are two slips away from one of tipstaff's.

// sharedPrefixes begin settings of tipstaff and variables of others.
var sharedPrefixes = []string{"ALLOWED_", "ENABLE_"}

// misspelt are the variables of an environment that are misspelt settings, each with
// its nearest setting behind it.
func misspelt(environ []string) (list []string) {
	var known, own []string
	for _, v := range config.Variables(nil) {
		known = append(known, v.Name)
		if config.OwnName(v.Name) || sharedPrefix(v.Name) != "" {
			own = append(own, v.Name)
		}
	}
	for _, name := range config.Unknown(environ) {
		near := nearest.DidYouMean(name, known)
		for _, meant := range []string{behind("TERMINAL_", name, own), strings.TrimPrefix(name, "TIPSTAFF_")} {
			if slices.Contains(own, meant) {
				near = "; did you mean " + meant + "?"
			}
		}
		list = append(list, name+near)
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || config.OwnName(name) || !strings.Contains(name, "_") || slices.Contains(known, name) {
			continue
		}
		if meant := meantBy(name, own); meant != "" {
			list = append(list, name+"; did you mean "+meant+"?")
		}
	}
	return list
}

// meantBy returns the setting that is misspelt as name, "" for a variable of others.
func meantBy(name string, own []string) string {
	prefix := sharedPrefix(name)
	if prefix == "" {
		const slips = 2
		for _, k := range own { // the lengths are compared first: a server starts faster
			if n := len(name) - len(k); -slips <= n && n <= slips && nearest.Distance(name, k) <= slips {
				return k
			}
		}
		return ""
	}
	return behind(prefix, name, own)
}

// behind returns the setting whose name differs from another only a little in what
// follows the prefix of both; "" if there is none.
func behind(prefix, name string, own []string) string {
	var rests []string
	for _, k := range own {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			rests = append(rests, rest)
		}
	}
	after, ok := strings.CutPrefix(name, prefix)
	if rest := nearest.ToOrPrefix(after, rests); ok && rest != "" {
		return prefix + rest
	}
	return ""
}

func sharedPrefix(name string) string {
	for _, p := range sharedPrefixes {
		if strings.HasPrefix(name, p) {
			return p
		}
	}
	return ""
}

// CheckNames says which variables no server starts with.
func CheckNames(environ []string) error {
	var faults []error
	for _, name := range misspelt(environ) {
		faults = append(faults, errors.New(misspeltText(name)))
	}
	return errors.Join(faults...)
}

// misspeltText is what is said of one that [misspelt] has found.
func misspeltText(found string) string {
	name, meant, near := strings.Cut(found, "; ")
	if near {
		meant = " (" + meant + ")"
	}
	text := fmt.Sprintf("%s is no setting of tipstaff, and would do nothing%s; tipstaff config show lists all that are", name, meant)
	if strings.HasPrefix(name, "TERMINAL_") {
		text += fmt.Sprintf(". If it is another program's, start tipstaff without it: env -u %s tipstaff …, or set it to nothing in the client's entry (\"env\": {\"%s\": \"\"})", name, name)
	}
	return text
}
