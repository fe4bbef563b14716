// Package clients knows the programs that agents run in: where each keeps the
// list of its MCP servers, what an entry looks like there, and how such a file
// is changed without damage.
//
// A change is text that is put into the file or taken out of it: comments,
// order, unknown keys, line endings and indentation stay. Each change is read
// back and compared with the file before it is written. What cannot be changed
// that surely is left alone, and the error says what was found, that nothing was
// changed, and what to do.
//
// The package starts no program, not even a client's own command for this: that
// command is only shown. It reads no environment; [System] is handed in.
//
// Read next: table.go (the clients), plan.go (what a change consists of), file.go
// (what a file must be before it is changed), then one of the formats:
// jsonc.go, toml.go, yaml.go. Only files of JSON are changed; for the others byhand.go
// says what a person does.
package clients
