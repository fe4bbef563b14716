# Who may ask this Open Policy Agent for what (opa run --authorization=basic).
# Without it, whoever reaches OPA can replace its rules, and with an open network
# that is every command on its loopback.
package system.authz

default allow := false

allow if {
	input.method == "POST"
	input.path == ["v1", "data", "tipstaff", "decision"]
}

allow if {
	input.method == "GET"
	input.path == ["health"]
}
