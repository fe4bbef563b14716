package clients

import "slices"

// ServerName is the name under which clients know the server.
const ServerName = "tipstaff"

// Entry is how a client reaches the server: by starting a command, or at an
// address.
type Entry struct {
	Command string
	Args    []string
	Env     []Variable // in order
	Accept  []Variable // of a hook: variables of the client that a person has looked at
	URL     string     // over HTTP; then there is no command
}

// Variable is one of the environment that a client gives the server.
type Variable struct{ Name, Value string }

// field is a key of an entry with its value: a string, a bool, an int, a
// []string or an object.
type field struct {
	key   string
	value any
}

// object is a mapping whose keys keep their order.
type object []field

func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(f field) bool { return f.key == key })
}

// plain is o as decoders give a mapping.
func (o object) plain() map[string]any {
	m := map[string]any{}
	for _, f := range o {
		m[f.key] = plainValue(f.value)
	}
	return m
}

func plainValue(v any) any {
	switch v := v.(type) {
	case object:
		return v.plain()
	case []object:
		list := make([]any, len(v))
		for i, o := range v {
			list[i] = o.plain()
		}
		return list
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	}
	return v
}

// dialect says how a client writes an entry.
type dialect struct {
	// stdio and http give the keys of an entry. http may leave the token to
	// write to tokenAt.
	stdio func(Entry) object
	http  func(url string) object
	// command, args, env and url are the keys in which these are found again.
	// joined says that command holds the arguments, too.
	command, args, env, url string
	joined                  bool
	// token says where a person puts the token for HTTP.
	token string
}

// fields are the keys of an entry.
func (d dialect) fields(e Entry) object {
	if e.URL != "" {
		return d.http(e.URL)
	}
	return d.stdio(e)
}

// foreign are the keys that must not stand in an entry of this kind: those of
// the other kind.
func (d dialect) foreign(e Entry) []string {
	own, other := d.stdio(Entry{Command: "x", Env: []Variable{{"A", "b"}}}), object(nil)
	if d.http != nil {
		other = d.http("x")
	}
	if e.URL != "" {
		own, other = other, own
	}
	var keys []string
	for _, f := range other {
		if !own.has(f.key) {
			keys = append(keys, f.key)
		}
	}
	return keys
}

// read finds an entry again in what a file says.
func (d dialect) read(m map[string]any) Entry {
	var e Entry
	text := func(v any) string { s, _ := v.(string); return s }
	e.URL = text(m[d.url])
	list := func(v any) (all []string) {
		items, _ := v.([]any)
		for _, i := range items {
			all = append(all, text(i))
		}
		return all
	}
	if d.joined {
		if words := list(m[d.command]); len(words) > 0 {
			e.Command, e.Args = words[0], words[1:]
		}
	} else {
		e.Command, e.Args = text(m[d.command]), list(m[d.args])
	}
	if vars, ok := m[d.env].(map[string]any); ok {
		for _, name := range sortedKeys(vars) {
			e.Env = append(e.Env, Variable{name, text(vars[name])})
		}
	}
	return e
}

func environment(vars []Variable) object {
	o := object{}
	for _, v := range vars {
		o = append(o, field{v.Name, v.Value})
	}
	return o
}
