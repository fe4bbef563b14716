package clients

import "slices"

// addByHand says what a person does for a client whose file tipstaff does not change,
// unless the entry is there already.
func (c Client) addByHand(ch *Change, e Entry, scope Scope) error {
	if r, ok := c.format.(reader); ok {
		got, err := r.entry(ch.file.text)
		if err != nil {
			return c.refused(ch.Path, err, "Mend it, then put the entry there yourself.")
		}
		foreign := func(key string) bool { _, there := got[key]; return there }
		if contains(got, c.entry.fields(e)) && !slices.ContainsFunc(c.entry.foreign(e), foreign) {
			return nil
		}
	}
	if line := c.Vendor(e, scope); line != "" {
		return refuse("Run this yourself: "+line, "%s changes %s itself", c.Title, ch.Path)
	}
	return refuse("Put the entry there yourself.", "tipstaff does not change %s", ch.Path)
}

// removeByHand says how a person takes the entry out, unless it is not there.
func (c Client) removeByHand(ch *Change, scope Scope) error {
	if r, ok := c.format.(reader); ok {
		got, err := r.entry(ch.file.text)
		if err != nil || got == nil {
			return c.refused(ch.Path, err, "Mend it, then take the entry out yourself.")
		}
	} else if c.remove != "" && scope == User {
		return refuse("Run this yourself: "+c.remove, "%s changes %s itself", c.Title, ch.Path)
	}
	return refuse("Take the entry "+ServerName+" out yourself.", "tipstaff does not change %s", ch.Path)
}
