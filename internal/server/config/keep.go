package config

import "tipstaff/internal/audit/retention"

// bounds reads how long and how much of trails or recordings is kept; all, if nothing
// is set.
func (r *reader) bounds(name string) retention.Bounds {
	v := r.vars[name]
	if v == "" {
		return retention.Bounds{}
	}
	b, err := retention.Parse(v)
	if err != nil {
		r.fault(name, "%v", err)
	}
	return b
}
