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
	"reflect"
	"strconv"
	"strings"
)

// Unmarshal decodes one JSON value as [json.Unmarshal] does, and refuses what two
// readers could read differently: an object in which a name occurs twice, or in which
// two names differ only in case, and a member whose name is that of a field of v but
// for its case. Other unknown members are ignored. Where v has a [json.RawMessage] or
// an interface, the objects in it are looked at for repeated names, too.
func Unmarshal(data []byte, v any) error {
	if !json.Valid(data) {
		return json.Unmarshal(data, v) // which says where it is wrong
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := value(d, reflect.TypeOf(v)); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// value reads one value, which is to be decoded into t; nil: into anything.
func value(d *json.Decoder, t reflect.Type) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('{'):
		return object(d, t)
	case json.Delim('['):
		var item reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			item = t.Elem()
		}
		for d.More() {
			if err := value(d, item); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// object reads the members of an object up to its end.
func object(d *json.Decoder, t reflect.Type) error {
	fields, other := fieldsOf(t)
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, is := token.(string)
		if !is {
			return errors.New("a member without a name")
		}
		if seen[name] {
			return &RepeatedError{name, name}
		}
		seen[name] = true
		field, known := fields[foldCase(name)]
		if known && field.name != name {
			return &RepeatedError{field.name, name}
		}
		of := other
		if known {
			of = field.of
		}
		if err := value(d, of); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
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

type field struct {
	name string
	of   reflect.Type
}

// fieldsOf returns the members that a struct takes, by their names in one case, and
// the type of the members of a map.
func fieldsOf(t reflect.Type) (fields map[string]field, other reflect.Type) {
	if t == nil {
		return nil, nil
	}
	if t.Kind() == reflect.Map {
		return nil, t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	fields = map[string]field{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-", !f.IsExported(), f.Anonymous && tag == "":
			continue
		case tag == "":
			tag = f.Name
		}
		fields[foldCase(tag)] = field{tag, f.Type}
	}
	return fields, nil
}

// foldCase returns one form for all names that differ only in case, as encoding/json
// folds them: K and the Kelvin sign are one letter.
func foldCase(s string) string { return strings.ToLower(strings.ToUpper(s)) }
