package console

import (
	"net/http"
)

// entry is a page of the navigation. To add one: a row in [pages], a file
// page_<name>.go with its routes, and a template pages/<name>.html that defines
// "main".
type entry struct {
	path, name string
	// routes adds what the page answers, at path and below. Handlers are made by
	// [Server.page], which shows their errors, and [Server.stream].
	routes func(*Server, *http.ServeMux)
}

// pages returns the pages in the order of the navigation; the first is where a
// person comes in.
func pages() []entry {
	return []entry{
		{"/now", "Now", (*Server).routesNow},
		{"/approvals", "Approvals", (*Server).routesApprovals},
		{"/trail", "Trail", (*Server).routesTrail},
		{"/replay", "Replay", (*Server).routesReplay},
		{"/policy", "Policy", (*Server).routesPolicy},
		{"/figures", "Figures", (*Server).routesFigures},
		{"/health", "Health", (*Server).routesHealth},
	}
}

// view is what the layout shows around a page.
type view struct {
	// Page is the name of the template, Title what the window is called.
	Page, Title string
	// Here is the path of the entry in the navigation that the page belongs to.
	Here string
	// Scripts are modules of static/ that make the page live.
	Scripts []string
	// Styles are further style sheets of static/.
	Styles []string
	// Data is for the page's own template.
	Data any
	// Status is 200 unless it is set.
	Status int
	// Policy replaces the Content-Security-Policy of the other pages.
	Policy string
	// Notice says what the person's last act has come to.
	Notice string
}

// page returns a handler that shows its errors as pages. Errors that are no
// [problem] are logged, and the person is told that the console failed.
func (s *Server) page(do func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			s.showProblem(w, r, err)
		}
	})
}
