package policy

import "tipstaff"

// NewAsking is New with a rule that leaves every command to a person.
func NewAsking(s Settings) *Policy {
	p := New(s)
	p.rules = append(p.rules, entry{leftToPeople{}, restLast})
	return p
}

type leftToPeople struct{}

func (leftToPeople) Judge(*tipstaff.Request, World, *Draft) []Finding {
	return []Finding{{Rule: "asking", At: "here", Effect: Ask, Msg: "a person has to allow it", Hint: "ask one"}}
}

// NarrowRoots is what [Grant.Roots] is made by.
var NarrowRoots = narrowRoots
