//go:build linux

package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// value is what a parameter stands for.
type value struct {
	texts []string
	set   bool
	list  bool // of several values: $@, $*, ${a[@]}, ${a[*]}
	star  bool // * and not @
}

func one(text string, set bool) value {
	if !set {
		return value{}
	}
	return value{texts: []string{text}, set: true}
}

func (v value) text() string {
	if len(v.texts) == 0 {
		return ""
	}
	return v.texts[0]
}

// null reports whether ":-" and the like see no value.
func (v value) null() bool {
	if v.list {
		return len(v.texts) == 0 || len(v.texts) == 1 && v.texts[0] == ""
	}
	return v.text() == ""
}

// param adds $name or ${…}.
func (b *builder) param(e *syntax.ParamExp, quoted bool) error {
	if e.Excl {
		return b.indirect(e, quoted)
	}
	v, err := b.s.parameter(e.Param.Value, e.Index, e)
	if err != nil {
		return err
	}
	return b.operated(e, v, quoted)
}

// operated applies the operator of an expansion and adds what comes of it.
func (b *builder) operated(e *syntax.ParamExp, v value, quoted bool) error {
	s := b.s
	if e.Length {
		return b.length(e, v, quoted)
	}
	if x := e.Exp; x != nil {
		switch x.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			return b.conditional(e, v, quoted)
		}
	}
	if err := s.bound(e, v); err != nil {
		return err
	}
	var err error
	switch {
	case e.Slice != nil:
		v, err = s.slice(e, v)
	case e.Repl != nil:
		v, err = s.replace(e.Repl, v, b)
	case e.Exp != nil:
		v, err = s.transform(e.Exp, v)
	}
	if err != nil {
		return err
	}
	b.value(v, quoted)
	return nil
}

// bound fails for an unset parameter, with set -u.
func (s *Shell) bound(e *syntax.ParamExp, v value) error {
	if v.set || v.list || !s.options.nounset {
		return nil
	}
	name := e.Param.Value
	if e.Index != nil {
		name += "[" + nodeText(e.Index) + "]"
	}
	return &failure{text: name + ": unbound variable", kind: endsShell, code: s.fatal()}
}

// fatal is the status with which an error of an expansion ends a shell.
func (s *Shell) fatal() int {
	if s.inSubshell {
		return 1
	}
	return 127
}

func (b *builder) value(v value, quoted bool) {
	if v.list {
		b.elements(v.texts, v.star, quoted)
		return
	}
	b.result(v.text(), quoted)
}

func (b *builder) length(e *syntax.ParamExp, v value, quoted bool) error {
	if v.list {
		b.result(itoa(int64(len(v.texts))), quoted)
		return nil
	}
	if err := b.s.bound(e, v); err != nil {
		return err
	}
	b.result(itoa(int64(b.s.characters(v.text()))), quoted)
	return nil
}

// conditional is ${x-y}, ${x:-y} and those with =, ? and +. The word is expanded
// only if it is used.
func (b *builder) conditional(e *syntax.ParamExp, v value, quoted bool) error {
	op := e.Exp.Op
	has := v.set || v.list && len(v.texts) > 0
	switch op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		has = has && !v.null()
	}
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if has {
			return b.alternative(e.Exp.Word, quoted)
		}
		return nil
	}
	if has {
		b.value(v, quoted)
		return nil
	}
	switch op {
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		text, err := b.s.string(e.Exp.Word)
		if err != nil {
			return err
		}
		if text == "" {
			text = "parameter null or not set"
			if op == syntax.ErrorUnset {
				text = "parameter not set"
			}
		}
		return &failure{text: e.Param.Value + ": " + text, kind: endsShell, code: b.s.fatal()}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		word := b.s.builder(false)
		word.assigns, word.document = !quoted, b.document
		if err := word.alternative(e.Exp.Word, quoted); err != nil {
			return err
		}
		text := join(word.current)
		if err := b.s.assignElement(e.Param.Value, e.Index, text); err != nil {
			return err
		}
		b.result(text, quoted)
		return nil
	}
	return b.alternative(e.Exp.Word, quoted)
}

// alternative adds the word of ${x:-word}. Without quotes it is split, with all
// that is not quoted in it.
func (b *builder) alternative(w *syntax.Word, quoted bool) error {
	if w == nil {
		return nil
	}
	literals := b.literals
	b.literals = b.splits && !quoted
	defer func() { b.literals = literals }()
	for i, p := range w.Parts {
		var err error
		if q, is := p.(*syntax.SglQuoted); is && quoted && (!q.Dollar || b.document) {
			if q.Dollar {
				b.add("$", true)
			}
			err = b.apostrophes(q.Value)
		} else {
			err = b.part(p, quoted, i == 0, i == len(w.Parts)-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// apostrophes adds '…' in "${x:-'…'}": there they are no quotes.
func (b *builder) apostrophes(text string) error {
	b.add("'", true)
	if strings.ContainsAny(text, "$`\\\"") {
		w, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(text))
		if err != nil || strings.Contains(text, "\"") {
			return &failure{text: "these quotes within quotes are not supported", kind: endsShell, code: 2}
		}
		if err := b.word(w.Parts, true); err != nil {
			return err
		}
	} else {
		b.add(text, true)
	}
	b.add("'", true)
	return nil
}

// indirect is ${!x}, ${!x*}, ${!a[@]}.
func (b *builder) indirect(e *syntax.ParamExp, quoted bool) error {
	s, name := b.s, e.Param.Value
	switch {
	case e.Names != 0:
		b.elements(s.namesWith(name), e.Names == syntax.NamesPrefix, quoted)
		return nil
	case isLit(e.Index, "@") || isLit(e.Index, "*"):
		b.elements(s.keysOf(name), isLit(e.Index, "*"), quoted)
		return nil
	}
	v := s.vars.holder(name).names[name]
	if v.refers {
		b.result(v.text, quoted)
		return nil
	}
	at, err := s.parameter(name, e.Index, e)
	if err != nil {
		return err
	}
	if !at.set {
		return discard("%s: invalid indirect expansion", name)
	}
	target, index, err := s.target(at.text())
	if err != nil {
		return err
	}
	val, err := s.parameter(target, index, e)
	if err != nil {
		return err
	}
	plain := *e
	plain.Excl, plain.Param, plain.Index = false, &syntax.Lit{Value: target}, index
	return b.operated(&plain, val, quoted)
}

// target reads what ${!x} leads to: a name, or an element.
func (s *Shell) target(text string) (string, syntax.ArithmExpr, error) {
	name, sub, is := strings.Cut(text, "[")
	if !is {
		if text == "" || !syntax.ValidName(text) && strings.Trim(text, "0123456789") != "" && !strings.Contains("@*#?-$!", text) {
			return "", nil, discard("%s: invalid variable name", text)
		}
		return text, nil, nil
	}
	if !syntax.ValidName(name) || !strings.HasSuffix(sub, "]") {
		return "", nil, discard("%s: invalid variable name", text)
	}
	return name, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: strings.TrimSuffix(sub, "]")}}}, nil
}
