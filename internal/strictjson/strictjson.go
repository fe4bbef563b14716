// Package strictjson decodes JSON that somebody else has written, so that it means to
// tipstaff exactly what it means to its writer. encoding/json takes the last of two
// members with one name, and matches names without regard to case: {"command": "evil",
// "Command": "ls"} would be judged as ls, and run as evil by a client that reads it
// another way.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Unmarshal decodes one JSON value as [json.Unmarshal] does, and refuses what two
// readers could read differently: an object in which a name occurs twice, or in which
// two names differ only in case, and a member whose name is that of a field of v but
// for its case. Other unknown members are ignored. Where v has a [json.RawMessage] or
// an interface, the objects in it are looked at for repeated names, too.
func Unmarshal(data []byte, v any) error {
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && strings.IndexByte("{[", start[0]) >= 0 && json.Valid(data) {
		if err := check(data, reflect.TypeOf(v), 0); err != nil {
			return err
		}
	}
	return json.Unmarshal(data, v)
}

// maxDepth bounds how deep values may be within each other: each level is read again
// for the one around it.
const maxDepth = 100

// check looks at a value that is to be decoded into t; nil: nowhere.
func check(data []byte, t reflect.Type, depth int) error {
	if depth > maxDepth {
		return errors.New("it is nested too deep")
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	if data = bytes.TrimSpace(data); data[0] == '[' {
		var item reflect.Type
		switch t.Kind() {
		case reflect.Slice, reflect.Array:
			item = t.Elem()
		case reflect.Interface:
			item = t
		}
		for _, one := range items(data) {
			if err := check(one, item, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	members, err := Members(data, math.MaxInt)
	if err != nil {
		return err
	}
	fields, other := fieldsOf(t)
	for _, m := range members {
		of := other
		if field, known := fields[foldCase(m.Name)]; known {
			if field.name != m.Name {
				return &RepeatedError{field.name, m.Name}
			}
			of = field.of
		}
		if err := check(m.Value, of, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// RepeatedError is the error for a member that readers would read differently.
type RepeatedError struct{ Name, Again string }

// Error names the member and says what to do.
func (e *RepeatedError) Error() string {
	again, name := short(e.Again), short(e.Name)
	if e.Name == e.Again {
		return name + " occurs twice in one object, and which of them counts is not defined; send it once"
	}
	return fmt.Sprintf("%s is %s but for its case, and readers differ about such names; write %s", again, name, name)
}

func short(name string) string { return strconv.Quote(string(name[:min(len(name), 100)])) }

type structField struct {
	name string
	of   reflect.Type
}

// fieldsOf returns the members that a struct takes, by their names in one case, and
// the type of the members of a map.
func fieldsOf(t reflect.Type) (fields map[string]structField, other reflect.Type) {
	switch t.Kind() {
	case reflect.Map:
		return nil, t.Elem()
	case reflect.Interface:
		return nil, t
	case reflect.Struct:
	default:
		return nil, nil
	}
	if kept, is := structs.Load(t); is {
		if fields, is = kept.(map[string]structField); is {
			return fields, nil
		}
	}
	fields = map[string]structField{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-", !f.IsExported(), f.Anonymous && tag == "":
			continue
		case tag == "":
			tag = f.Name
		}
		fields[foldCase(tag)] = structField{tag, f.Type}
	}
	structs.Store(t, fields)
	return fields, nil
}

// structs keeps the fields of each struct, by its type.
var structs sync.Map

// foldCase returns one form for all names that differ only in case, as encoding/json
// folds them: K and the Kelvin sign are one letter.
func foldCase(s string) string { return strings.ToLower(strings.ToUpper(s)) }
