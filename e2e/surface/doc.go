// Package surface freezes what others rely on: the public Go API, the help of
// every command, the man pages, the schema of the configuration file, the tools
// of both eras of the protocol, decisions of a policy, the form of the record,
// the names of metrics, the modules that are linked, and the size of the
// program. Each is a file of testdata, which the test writes anew and compares.
//
// A change of one of these files is a change that users notice. If it is meant,
// accept it and read the difference before you commit it:
//
//	go test ./e2e/surface -update
package surface
