package language

// inside refuses what default: inside cannot be kept with. Only a confined command may
// run because no rule speaks of it; how strongly it is confined here, only the runner
// knows, and it runs nothing that it cannot confine as [Policy.Bounds] say.
func (l *loader) inside() {
	box := &l.policy.File.Sandbox
	if box.Profile.Value == "open" {
		l.faults.add(box.Profile.At, "write profile: workspace or leave it out", "default: inside lets commands run because they write nothing outside of the roots, and the profile open lets them")
	}
	open := func(list []Text) {
		for _, host := range list {
			if host.Value == "on" {
				l.faults.add(host.At, "name the hosts, as [proxy.golang.org, \"*.example.com\"], or write off", "default: inside lets commands run because they reach listed hosts only, and network: on lets them reach all")
			}
		}
	}
	open(box.Network)
	for i := range l.policy.File.Commands.Rows {
		open(l.policy.File.Commands.Rows[i].Value.Network)
	}
}
