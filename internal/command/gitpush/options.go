package gitpush

import (
	"slices"
	"strings"
)

// option is what an option of git push means.
type option struct {
	set    func(o *options, value string, on bool)
	value  bool // it takes one
	glued  bool // only behind =
	tells  bool // it says more than how: a rule has to name it
	noMore bool // --no-x means nothing else than that it is off
}

// options are those of one push.
type options struct {
	force, lease, remove, prune bool
	all, mirror, tags           bool
	follow                      *bool
	recurse                     *string
	repo                        string
	tell                        []string
	stdin, unknown, dry         bool
	operands                    []string
}

func is(at func(o *options) *bool) func(*options, string, bool) {
	return func(o *options, _ string, on bool) { *at(o) = on }
}

func nothing(*options, string, bool) {}

// knownOptions are the options of git push, as git 2.52 has them.
var knownOptions = map[string]option{
	"--force":             {set: is(func(o *options) *bool { return &o.force }), tells: true},
	"--force-with-lease":  {set: is(func(o *options) *bool { return &o.lease }), glued: true, tells: true},
	"--force-if-includes": {set: nothing},
	"--delete":            {set: is(func(o *options) *bool { return &o.remove }), tells: true},
	"--prune":             {set: is(func(o *options) *bool { return &o.prune }), tells: true},
	"--all":               {set: is(func(o *options) *bool { return &o.all })},
	"--branches":          {set: is(func(o *options) *bool { return &o.all })},
	"--mirror":            {set: is(func(o *options) *bool { return &o.mirror }), tells: true},
	"--tags":              {set: is(func(o *options) *bool { return &o.tags })},
	"--follow-tags":       {set: func(o *options, _ string, on bool) { o.follow = &on }},
	"--recurse-submodules": {set: func(o *options, v string, on bool) {
		o.recurse = &v
		if !on {
			*o.recurse = "no"
		}
	}, value: true},
	"--repo":         {set: func(o *options, v string, on bool) { o.repo = v }, value: true},
	"--receive-pack": {set: nothing, value: true, tells: true},
	"--exec":         {set: nothing, value: true, tells: true},
	"--push-option":  {set: nothing, value: true, tells: true},
	"--signed":       {set: nothing, glued: true},
	"--verify":       {set: nothing, noMore: true},
	"--set-upstream": {set: nothing},
	"--dry-run":      {set: is(func(o *options) *bool { return &o.dry })},
	"--verbose":      {set: nothing},
	"--quiet":        {set: nothing},
	"--porcelain":    {set: nothing},
	"--progress":     {set: nothing},
	"--thin":         {set: nothing},
	"--atomic":       {set: nothing},
	"--ipv4":         {set: nothing},
	"--ipv6":         {set: nothing},
}

// letters are the options of one letter.
var letters = map[byte]string{'f': "--force", 'd': "--delete", 'o': "--push-option", 'u': "--set-upstream", 'n': "--dry-run", 'v': "--verbose", 'q': "--quiet", '4': "--ipv4", '6': "--ipv6"}

// ofSendPack are options that only git send-pack has.
var ofSendPack = map[string]option{
	"--remote":        {set: nothing, value: true},
	"--stdin":         {set: is(func(o *options) *bool { return &o.stdin })},
	"--stateless-rpc": {set: is(func(o *options) *bool { return &o.unknown })},
	"--helper-status": {set: nothing},
}

// readOptions reads the words behind the subcommand, as git's parse-options
// does.
func readOptions(words []string, sendPack bool) options {
	var o options
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			o.operands = append(o.operands, words[i+1:]...)
			return o
		case len(word) < 2 || word[0] != '-':
			o.operands = append(o.operands, word)
		case strings.HasPrefix(word, "--"):
			i += o.long(word, words[i+1:], sendPack)
		default:
			i += o.short(word[1:], words[i+1:])
		}
	}
	return o
}

// long reads a long option; it returns how many of the next words belong to it.
func (o *options) long(word string, next []string, sendPack bool) int {
	name, value, has := strings.Cut(word, "=")
	full, on := complete(name, sendPack)
	opt, ok := knownOptions[full]
	if !ok && sendPack {
		opt, ok = ofSendPack[full]
	}
	switch {
	case !ok, has && !opt.value && !opt.glued, has && !on:
		o.unknown = true
		return 0
	case on && opt.value && !has && len(next) == 0:
		o.unknown = true
		return 0
	}
	used := 0
	if on && opt.value && !has {
		value, used = next[0], 1
	}
	o.apply(full, opt, value, on)
	return used
}

func (o *options) apply(full string, opt option, value string, on bool) {
	opt.set(o, value, on)
	switch {
	case on && opt.tells:
		o.tell = append(o.tell, full)
	case !on && opt.noMore:
		o.tell = append(o.tell, "--no-"+full[2:])
	}
}

// short reads letters; it returns how many of the next words belong to them.
func (o *options) short(text string, next []string) int {
	for i := range len(text) {
		full := letters[text[i]]
		opt, ok := knownOptions[full]
		switch {
		case !ok:
			o.unknown = true
			return 0
		case !opt.value:
			o.apply(full, opt, "", true)
			continue
		case i+1 < len(text):
			o.apply(full, opt, text[i+1:], true)
			return 0
		case len(next) == 0:
			o.unknown = true
			return 0
		}
		o.apply(full, opt, next[0], true)
		return 1
	}
	return 0
}

// complete returns the full name of an option that may be abbreviated, and
// whether it is switched on; "" if there is none or there are several.
func complete(name string, sendPack bool) (full string, on bool) {
	exists := func(n string) bool {
		_, ok := knownOptions[n]
		_, more := ofSendPack[n]
		return ok || sendPack && more
	}
	if exists(name) {
		return name, true
	}
	if off, is := strings.CutPrefix(name, "--no-"); is && exists("--"+off) {
		return "--" + off, false
	}
	var found []string
	for n := range knownOptions {
		for _, spelt := range []string{n, "--no-" + n[2:]} {
			if strings.HasPrefix(spelt, name) && len(name) > 2 {
				found = append(found, spelt)
			}
		}
	}
	slices.Sort(found)
	if len(found) != 1 {
		return "", false
	}
	if off, is := strings.CutPrefix(found[0], "--no-"); is {
		return "--" + off, false
	}
	return found[0], true
}
