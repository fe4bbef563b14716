package policy

import (
	"slices"
	"strings"
)

// option reads one argument that begins with a dash.
func (r *startReader) option(arg string) {
	if r.single {
		name, value, assigned := strings.Cut(arg, "=")
		if strings.HasPrefix(name, "--") {
			name = name[1:]
		}
		r.apply(name, r.known(name), value, assigned)
		return
	}
	if strings.HasPrefix(arg, "--") {
		name, value, assigned := strings.Cut(arg, "=")
		name, o := r.long(name)
		r.apply(name, o, value, assigned)
		return
	}
	if o, ok := r.starter.options[arg]; ok && len(arg) > 2 { // -TT of zip
		r.apply(arg, o, "", false)
		return
	}
	r.cluster(arg)
}

// known looks an option up that is not abbreviated.
func (r *startReader) known(name string) option { return r.starter.options[name] }

// long finds a long option, which may be abbreviated. Of several that it could
// be short for, the most dangerous one counts.
func (r *startReader) long(name string) (string, option) {
	if o, ok := r.starter.options[name]; ok {
		return name, o
	}
	full, best := name, option{}
	for candidate, o := range r.starter.options {
		if !strings.HasPrefix(candidate, name) || o.kind == optionEnds {
			continue
		}
		if o.kind > best.kind || o.kind == best.kind && candidate < full {
			full, best = candidate, o
		}
	}
	return full, best
}

// cluster reads -abc: flags, of which the last may have a value, glued to it or
// in the next argument.
func (r *startReader) cluster(arg string) {
	for i := 1; i < len(arg); i++ {
		name := "-" + arg[i:i+1]
		o := r.known(name)
		rest := arg[i+1:]
		switch o.kind {
		case optionFlag, optionPlain, optionEnds, optionRefuse, optionNeeds:
			r.apply(name, o, "", false)
			continue
		case optionUnknown:
			r.unknown(name)
			continue
		}
		r.apply(name, o, rest, rest != "")
		return
	}
}

// oldOptions reads "cIf gzip out.tar": letters first, then their values.
func (r *startReader) oldOptions() {
	for _, c := range r.args[0] {
		name := "-" + string(c)
		if o := r.known(name); o.kind != optionUnknown {
			r.apply(name, o, "", false)
		}
	}
	r.at++
}

// takesValue reports whether an option of this kind is followed by its value.
func (k optionKind) takesValue() bool {
	switch k {
	case optionValue, optionProgram, optionSplits, optionHole, optionVariable, optionMoves, optionSetting, optionSettingEnv, optionCode:
		return true
	}
	return false
}

// apply does what an option says. value counts when it is glued to the option.
func (r *startReader) apply(name string, o option, value string, glued bool) {
	if o.kind.takesValue() && !glued {
		if r.at++; r.at >= len(r.args) {
			return // the program will say that the value is missing
		}
		value = r.args[r.at]
	}
	by, index := r.by+" "+name, r.base.of(r.at)
	r.seen = append(r.seen, name)
	switch o.kind {
	case optionUnknown:
		r.unknown(name)
	case optionProgram:
		r.commanded = true
		r.program(by, value, index)
	case optionMaybeProgram:
		if glued {
			r.program(by, value, index)
		}
	case optionSplits:
		r.commanded = true
		r.line(by, value, index, r.args[min(r.at+1, len(r.args)):]...)
		r.at = len(r.args)
	case optionUntil, optionUntilMoved:
		r.until(by, value, o.kind == optionUntilMoved)
	case optionHole:
		r.holes = append(r.holes, value)
	case optionMaybeHole:
		if !glued {
			value = "{}"
		}
		r.holes = append(r.holes, value)
	case optionVariable:
		r.variable(value)
	case optionMoves:
		r.moved = true
	case optionPlain:
		r.asIs = true
	case optionEnds:
		r.ended = true
	case optionNeeds:
		r.add(started{words: []string{o.of}, by: by, index: index})
	case optionRefuse:
		r.fault(index, name, "an option of "+r.by+" that can start programs or read commands from a file")
	case optionMaybeRefuse:
		if glued {
			r.fault(index, name, "an option of "+r.by+" that says where its programs are")
		}
	case optionSetting, optionSettingEnv:
		r.setting(by, value, index, o.kind)
	case optionCode:
		r.code(o.of, value, index)
	}
}

// unknown refuses an option of a wrapper that might take a value: then nobody
// could say where the command begins.
func (r *startReader) unknown(name string) {
	if r.wraps && !r.project && !r.workspace {
		r.fault(r.base.of(r.at), name, "an option of "+r.by+" that is not known here, so it cannot be told what it would start")
	}
}

// until takes the words up to ; or {} + as a command line, as find does. first
// is its first word if that is glued to the option.
func (r *startReader) until(by, first string, moved bool) {
	from := r.at + 1
	end := from
	for end < len(r.args) && r.args[end] != ";" && (r.args[end] != "+" || r.args[end-1] != "{}") {
		end++
	}
	words := r.args[min(from, len(r.args)):end]
	if first != "" {
		words = append([]string{first}, words...)
	}
	r.add(started{words: words, by: by, index: r.base.of(from), inOne: r.base.inOne, moved: moved, holes: []string{"{}"}})
	r.at = end
}

// finishOperands judges what is left when options and command are taken away.
func (r *startReader) finishOperands() {
	language, every := strings.CutSuffix(r.operandCode, "*")
	given := slices.ContainsFunc(r.operandCodeUnless, func(o string) bool { return slices.Contains(r.seen, o) })
	for i, o := range r.operands {
		for _, text := range r.operandBegins {
			if strings.HasPrefix(o.text, text) {
				r.fault(r.base.of(o.at), o.text, "it decides what "+r.by+" starts")
			}
		}
		for _, text := range r.operandContains {
			if strings.Contains(strings.ToLower(o.text), text) {
				r.fault(r.base.of(o.at), o.text, "it makes "+r.by+" start something")
			}
		}
		if language != "" && !given && (every || i == 0) {
			r.code(language, o.text, r.base.of(o.at))
		}
		if r.operandLine {
			r.line(r.by, o.text, r.base.of(o.at))
		}
		if r.operandProgram && i == 0 {
			r.add(started{words: []string{o.text}, by: r.by, index: r.base.of(o.at), workspace: true})
		}
	}
	r.operandSettings()
}

// operandSettings judges KEY=value, and KEY value if the program reads that.
func (r *startReader) operandSettings() {
	if !r.operandSetting && !r.operandAssignment {
		return
	}
	for i, o := range r.operands {
		key, value, assigned := strings.Cut(o.text, "=")
		switch {
		case assigned:
			r.named(r.by, key, value, r.base.of(o.at))
		case r.operandSetting && i+1 < len(r.operands):
			next := r.operands[i+1]
			r.named(r.by, o.text, next.text, r.base.of(next.at))
		}
	}
}
