//go:build contain

package e2e

// exceptions are the rows of testdata/contain.jsonl that do not hold, by tier,
// each with the reason. A row that holds after all is an error too.
var exceptions = func() map[string]map[string]string {
	const (
		readable = "with Landlock alone, what the user may read and no table calls a secret is readable; in namespaces it is out of sight only because it lies in /tmp"
		metadata = "Landlock does not know of it: chmod is no access to a file"
		shared   = "with Landlock alone, /dev/shm is the machine's: semaphores and shared memory need it"
		listed   = "without a PID namespace, /proc lists everybody; what else is in there is closed"
		unmade   = "a repository that a command makes itself is its own; git init must work. What is found there afterwards is pinned"
		found    = "the contract (A13) says 127 for a program that is allowed and not there"
		named    = "the contract (B11) sets CAWS_TASK_ID to the task of the session"
		chosen   = "the operator has put the workspace on the PATH"
	)
	m := map[string]map[string]string{}
	both := func(why string, ids ...string) {
		for _, id := range ids {
			m[id] = map[string]string{namespacesTier: why, landlockTier: why}
		}
	}
	alone := func(why string, ids ...string) {
		for _, id := range ids {
			m[id] = map[string]string{landlockTier: why}
		}
	}
	both(unmade, "C-0059")
	both(found, "C-0203", "C-0204")
	both(named, "C-0277")
	both(chosen, "C-0287")
	alone(readable, "C-0001", "C-0002", "C-0003", "C-0016", "C-0018", "C-0020", "C-0022", "C-0029")
	alone(metadata, "C-0037")
	alone(shared, "C-0051")
	alone(listed, "C-0011")
	return m
}()

// settings are what a row needs beside a sandbox: by default nothing bounds the
// memory of a command and the size of a file, which some builds would miss.
var settings = map[string][]string{
	"C-0100": {"TIPSTAFF_LIMIT_MEMORY_BYTES=1073741824"},
	"C-0101": {"TIPSTAFF_LIMIT_FILE_BYTES=268435456"},
}

// controls are rows that are not played without a sandbox: the server keeps what
// they are after by other means, or nothing could be said after it.
var controls = map[string]string{
	"C-0013": "secrets are taken from the environment",
	"C-0026": "the server stops, and nobody wakes it",
	"C-0074": "sockets of agents are taken from the environment",
	"C-0083": "what a command leaves is ended by its control group or its mark",
	"C-0084": "what a command leaves is ended by its control group or its mark",
	"C-0085": "what a command leaves is ended by its control group or its mark",
	"C-0095": "a server that is told to end ends its commands",
	"C-0096": "a command is told by the kernel when the server has died",
}
