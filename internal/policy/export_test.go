package policy

// NewWithoutArguments is New without the rule about the content of arguments,
// so that a test can ask the rules beside it.
func NewWithoutArguments(s Settings) *Policy {
	p := New(s)
	for i, e := range p.rules {
		if _, ok := e.Rule.(arguments); ok {
			p.rules[i].Rule = arguments{ArgumentsOff}
		}
	}
	return p
}
