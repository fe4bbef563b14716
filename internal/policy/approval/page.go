package approval

import _ "embed" // the module

// PageScript is the module by which pages take answers: it says when a press counts. A
// page has it in front of its own script.
//
//go:embed answering.js
var PageScript string
