package decider

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/strictjson"
)

// answer is what a decider said. The zero answer denies.
type answer struct {
	effect       policy.Effect
	reason, hint string // printable, bounded
	id           string // the decider's own name for it, "" without one
	undefined    bool   // it says nothing about this command
}

// understand reads the body of an answer. An answer that it does not understand
// completely is an error: the part that it understands may be the part that
// allows.
func understand(body []byte) (answer, error) {
	outer, err := object(body)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if id, ok := outer["decision_id"]; ok && strictjson.Unmarshal(id, &a.id) == nil {
		a.id = shown(a.id, longestName)
	}
	result, ok := outer["result"]
	if !ok {
		a.undefined = true
		return a, nil
	}
	var allow *bool
	if err := strictjson.Unmarshal(result, &allow); err == nil && allow != nil {
		a.effect = effectOf(*allow)
		return a, nil
	}
	return a, a.read(result)
}

// read reads a result that is an object.
func (a *answer) read(result []byte) error {
	fields, err := object(result)
	if err != nil {
		return errors.New("its result is neither true, false nor an object")
	}
	effect, present := policy.Allow, false
	if raw, ok := fields["allow"]; ok {
		var allow *bool
		if strictjson.Unmarshal(raw, &allow) != nil || allow == nil {
			return errors.New("result.allow is neither true nor false")
		}
		effect, present = effectOf(*allow), true
	}
	if raw, ok := fields["decision"]; ok {
		var word *string
		if strictjson.Unmarshal(raw, &word) != nil || word == nil {
			return errors.New("result.decision is no string")
		}
		one, ok := effects[*word]
		if !ok {
			return fmt.Errorf("result.decision is %q, and must be allow, ask or deny", shown(*word, longestName))
		}
		effect, present = min(effect, one), true // the stricter of the two
	}
	if !present {
		return errors.New("its result has neither allow nor decision")
	}
	for name, into := range map[string]*string{"reason": &a.reason, "hint": &a.hint} {
		var text *string
		if raw, ok := fields[name]; ok && (strictjson.Unmarshal(raw, &text) != nil || text == nil) {
			return fmt.Errorf("result.%s is no string", name)
		}
		if text != nil {
			*into = shown(*text, longestText)
		}
	}
	a.effect = effect
	return nil
}

var effects = map[string]policy.Effect{"allow": policy.Allow, "ask": policy.Ask, "deny": policy.Deny}

func effectOf(allow bool) policy.Effect {
	if allow {
		return policy.Allow
	}
	return policy.Deny
}

// object reads one JSON object and nothing after it. Names are case-sensitive,
// and a name that appears twice is an error.
func object(data []byte) (map[string]json.RawMessage, error) {
	if !json.Valid(data) {
		return nil, errors.New("it is no JSON object, or something follows it")
	}
	members, err := strictjson.Members(data, math.MaxInt)
	if twice, is := errors.AsType[*strictjson.RepeatedError](err); is {
		return nil, fmt.Errorf("%q occurs in it twice", shown(twice.Name, longestName))
	}
	if members == nil {
		return nil, errors.New("it is no JSON object")
	}
	fields := map[string]json.RawMessage{}
	for _, m := range members {
		fields[m.Name] = m.Value
	}
	return fields, nil
}

// Bounds of what a decider may say, in bytes.
const (
	longestText = 500
	longestName = 100
)

// shown returns a text of the decider as one printable line of at most the
// given number of bytes, with a mark if it was cut.
func shown(text string, most int) string {
	cut := len(text) > most
	text = cmdline.Escape(strings.ToValidUTF8(text[:min(len(text), most)], ""))
	if len(text) > most {
		text, cut = strings.ToValidUTF8(text[:most], ""), true
	}
	if cut {
		text += "…"
	}
	return text
}
