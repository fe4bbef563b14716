package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tipstaff/internal/config"
	"tipstaff/internal/doctor"
)

// A variable that is meant to be a setting and is none would do nothing, and a bound
// that does nothing looks like one that holds. So it is an error:
//
//   - TIPSTAFF_ is tipstaff's alone: every name with it that is no setting is misspelt,
//     but for what [config.Unknown] leaves out.
//   - TERMINAL_, ALLOWED_ and ENABLE_ are not: JetBrains' terminals set
//     TERMINAL_EMULATOR, and some agents have TERMINAL_ settings of their own. A server
//     that did not start there would be broken by a name that has nothing to do with
//     it. Such a name is misspelt if it is near to a setting: a few slips of the keys in
//     what follows the prefix, or the beginning of one.
//   - Other names are misspelt if they are two slips away from one of tipstaff's.

// sharedPrefixes begin settings of tipstaff and variables of others.
var sharedPrefixes = []string{"TERMINAL_", "ALLOWED_", "ENABLE_"}

// misspelt are the variables of an environment that are misspelt settings, each with
// its nearest setting behind it.
func misspelt(environ []string) (list []string) {
	var known, own []string
	for _, v := range config.Variables(nil) {
		known = append(known, v.Name)
		if strings.HasPrefix(v.Name, "TIPSTAFF_") || sharedPrefix(v.Name) != "" {
			own = append(own, v.Name)
		}
	}
	for _, name := range config.Unknown(environ) {
		list = append(list, name+didYouMean(name, known))
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || strings.HasPrefix(name, "TIPSTAFF_") || !strings.Contains(name, "_") || slices.Contains(known, name) {
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
		for _, k := range own {
			if slips(name, k) <= 2 {
				return k
			}
		}
		return ""
	}
	var rests []string
	for _, k := range own {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			rests = append(rests, rest)
		}
	}
	if rest := nearest(strings.TrimPrefix(name, prefix), rests); rest != "" {
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

// misspeltError says which variables no server starts with.
func misspeltError(environ []string) error {
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
	return fmt.Sprintf("%s is no setting of tipstaff, and would do nothing%s; tipstaff config show lists all that are", name, meant)
}

// misspeltFindings are the misspelt variables of this environment.
func misspeltFindings() (found []doctor.Finding) {
	for _, name := range misspelt(os.Environ()) {
		found = append(found, finding(doctor.Fault, "%s", misspeltText(name)))
	}
	return found
}
