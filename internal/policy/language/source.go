package language

import (
	"reflect"
	"strconv"
	"strings"
)

// SourceSetting is one setting of a policy file as it was written.
type SourceSetting struct {
	Key   string // for example limits.timeout
	Value string
	At    Pos
}

// SourceSettings lists the settings of the file that apply to every command,
// with their positions. Rules, profiles and tests are not among them.
func (p *Policy) SourceSettings() []SourceSetting {
	var out []SourceSetting
	f := &p.File
	var extends []Text
	for _, e := range f.Extends {
		extends = append(extends, e.Name)
	}
	appendSettings(&out, "version", reflect.ValueOf(f.Version))
	for _, part := range []struct {
		key   string
		value any
	}{
		{"extends", extends}, {"default", f.Default}, {"roots", f.Roots}, {"limits", f.Limits},
		{"sandbox", f.Sandbox}, {"approvals", f.Approvals}, {"decider", f.Decider},
	} {
		appendSettings(&out, part.key, reflect.ValueOf(part.value))
	}
	return out
}

// appendSettings adds the values that were written below one key. It goes
// through structs by their tags, so that a new setting is listed without a line
// here.
func appendSettings(out *[]SourceSetting, key string, v reflect.Value) {
	add := func(text string, at Pos) {
		if at.Set() {
			*out = append(*out, SourceSetting{key, text, at})
		}
	}
	switch x := v.Interface().(type) {
	case Text:
		add(x.Value, x.At)
	case Count:
		add(strconv.Itoa(x.N), x.At)
	case Flag:
		add(strconv.FormatBool(x.On), x.At)
	case Size:
		add(strconv.FormatInt(x.Bytes, 10)+" bytes", x.At)
	case Duration:
		add(x.D.String(), x.At)
	case []Text:
		if len(x) > 0 {
			add(strings.Join(values(x), ", "), x[0].At)
		}
	default:
		if v.Kind() != reflect.Struct {
			return
		}
		for _, field := range fieldsOf(v.Type()) {
			appendSettings(out, key+"."+field.key, v.Field(field.index))
		}
	}
}
