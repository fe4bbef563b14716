// Package console shows the people of this host, in a browser, what agents do,
// and lets them stop it and answer questions.
//
// It is a process of its own beside the servers. It reads what the control
// sockets and the trails of one state directory say, and every act of a person
// goes through a control socket, which decides and records it. The package
// itself runs nothing, decides nothing and writes to no trail.
//
// Who may look: a browser that has opened the one-time address, which the
// console prints, has a cookie from then on. The console listens on loopback or
// at a unix socket only, is called by a name that no other server of this host
// has, and refuses what another page asks, what another user connects, and what
// a tipstaff has started.
//
// Each page is one file, page_<name>.go, with its template of the same name in
// pages/; it works without JavaScript, which adds what is live. All text of
// commands and agents goes through html/template and the functions text, code
// and lines of render.go, which show what cannot be seen as an escape.
//
// Read next: console.go for the path of a request, page.go to add a page.
package console
