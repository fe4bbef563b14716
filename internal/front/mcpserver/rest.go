package mcpserver

import (
	"tipstaff"
	"tipstaff/internal/front/authn"
)

// readOutputName is the tool that reads what an answer leaves out.
const readOutputName = "read_output"

// reads reports whether a principal may read what answers leave out.
func (s *Server) reads(p authn.Principal) bool {
	t, there := toolNamed(readOutputName)
	return there && s.offers.Jobs && s.offers.Outputs && t.permits(p)
}

// restOf is what a marker says of the output that is missing. It promises only
// what is kept.
func restOf(s tipstaff.Spooled) string {
	switch {
	case s.ID == "":
		return "nothing keeps them"
	case s.Whole:
		return readOutputName + ` {"command_id":"` + string(s.ID) + `","grep":"…"} reads them`
	default:
		return readOutputName + ` {"command_id":"` + string(s.ID) + `","grep":"…"} reads those that are kept, not all`
	}
}
