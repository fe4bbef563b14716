package console

// piece is a part of a page that is shown anew: live.js puts it into the element
// with that id.
type piece struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}
