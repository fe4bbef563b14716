//go:build linux && !race

package contain

import "tipstaff/e2e/kit"

// exception says why a row does not hold, and the only finding that it may
// have.
type exception struct{ finding, why string }

// exceptions are the rows of testdata/rows.jsonl that do not hold, by tier. It
// is an error if such a row holds after all.
var exceptions = func() map[string]map[string]exception {
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
	m := map[string]map[string]exception{}
	alone := func(finding, why string, ids ...string) {
		for _, id := range ids {
			m[id] = map[string]exception{kit.Landlock: {finding, why}}
		}
	}
	both := func(finding, why string, ids ...string) {
		alone(finding, why, ids...)
		for _, id := range ids {
			m[id][kit.Namespaces] = exception{finding, why}
		}
	}
	both("CODE RAN: .git/hooks/pre-commit", unmade, "C-0059")
	both("the verdict is not reject: exit_code: 127", found, "C-0203", "C-0204")
	both(`standard output lacks "CAWS_TASK_ID=TASK-001"`, named, "C-0277")
	both("CODE RAN: PWN", chosen, "C-0287")
	alone("CANARY READ", readable, "C-0001", "C-0002", "C-0003", "C-0018", "C-0020", "C-0022")
	alone("standard output has ", readable, "C-0016", "C-0029")
	alone("OUTSIDE CHANGED", metadata, "C-0037")
	alone("HOST FILE /dev/shm/corpus-", shared, "C-0051")
	alone("standard output is ", listed, "C-0011")
	return m
}()

// settings are what a row needs besides a sandbox: by default the memory of a
// command and the size of a file are not bounded, because some builds need
// much.
var settings = map[string][]string{
	"C-0100": {"TIPSTAFF_LIMIT_MEMORY_BYTES=1073741824"},
	"C-0101": {"TIPSTAFF_LIMIT_FILE_BYTES=268435456"},
}

// controls are rows that are not played without a sandbox: the server prevents
// them by other means, or nothing could be measured afterwards.
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

// rootControls are rows that only the machine's root can show to be live: what
// they open belongs to root.
var rootControls = map[string]string{
	"C-0028": "devices and the kernel's memory belong to root",
	"C-0057": "the kernel's settings and control groups belong to root",
}
