package tipstaff_test

import data.tipstaff

asked(argv, changes) := behind([argv], changes)

# behind is a command with the command lines that it would start, the command
# itself first.
behind(lines, changes) := object.union(
	{
		"version": 1, "argv": lines[0], "hidden": [], "file": concat("/", ["/usr/bin", lines[0][0]]), "principal": "local",
		"layers": [{"argv": argv, "program": argv[0], "by": "", "open": false} | some argv in lines],
		"layers_whole": true,
	},
	changes,
)

test_an_ordinary_command_is_allowed if {
	tipstaff.decision == {"decision": "allow"} with input as asked(["git", "status"], {})
}

test_another_version_is_refused if {
	tipstaff.decision.decision == "deny" with input as asked(["git", "status"], {"version": 2})
}

test_only_releasers_publish if {
	tipstaff.decision.decision == "deny" with input as asked(["npm", "publish"], {})
	tipstaff.decision.decision == "deny" with input as asked(["npm", "publish"], {"agent": "release"})
	tipstaff.decision.decision == "allow" with input as asked(["npm", "publish"], {"principal": "release"})
	tipstaff.decision.decision == "deny" with input as asked(["npm", "publish"], {}) with data.site as {}
}

test_a_wrapper_hides_nothing if {
	tipstaff.decision.decision == "deny" with input as behind([["timeout", "20", "npm", "publish"], ["npm", "publish"]], {})
	tipstaff.decision.decision == "deny" with input as behind([["python3", "-m", "twine", "upload"], ["twine", "upload"]], {})
	tipstaff.decision.decision == "ask" with input as behind([["env", "git", "push"], ["git", "push"]], {}) with data.site.frozen as true
	tipstaff.decision.decision == "allow" with input as behind([["timeout", "20", "npm", "test"], ["npm", "test"]], {})
	tipstaff.decision.decision == "allow" with input as behind([["timeout", "9", "curl", "-u", "<redacted:x>"], ["curl", "-u", "<redacted:x>"]], {"hidden": [4]})
	tipstaff.decision.decision == "ask" with input as asked(["watch", "a; b"], {"layers_whole": false})
}

test_what_is_hidden_is_for_who_needs_it if {
	tipstaff.decision.decision == "deny" with input as asked(["git", "push", "<redacted:x>"], {"hidden": [2]})
	tipstaff.decision.decision == "allow" with input as asked(["curl", "-u", "<redacted:x>"], {"hidden": [2]})
}

test_a_frozen_release_asks if {
	tipstaff.decision.decision == "ask" with input as asked(["git", "push"], {}) with data.site.frozen as true
	tipstaff.decision.decision == "allow" with input as asked(["git", "push"], {})
	tipstaff.decision.decision == "allow" with input as asked(["git", "status"], {}) with data.site.frozen as true
}

test_the_reasons_are_sentences if {
	tipstaff.decision.reason == "Argument 2 holds a secret. Pass it by a file or a variable. Only releasers publish. Open a pull request instead." with input as asked(["npm", "publish", "<redacted:x>"], {"hidden": [2]})
}
