package gitconfig

import "testing"

func TestAKeyOnACommandLineIsJudgedAsInAFile(t *testing.T) {
	for setting, want := range map[[2]string]bool{
		{"user.name", "A B"}:                      true,
		{"User.Name", "A B"}:                      true,
		{"branch.a.b.rebase", "true"}:             true,
		{"remote.origin.url", "https://h.test/x"}: true,
		{"remote.origin.url", "ext::id"}:          false,
		{"core.pager", "cat"}:                     false,
		{"gc.recentObjectsHook", "id"}:            false,
		{"rebase.instructionFormat", "%n"}:        false,
		{"alias.x", "log"}:                        false,
		{"unknown.key", "x"}:                      false,
		{"pager.log", "id"}:                       false,
		{"pager.log", "false"}:                    true,
		{"name", "x"}:                             false,
		{"", ""}:                                  false,
		{".", ""}:                                 false,
	} {
		if got := MaySet(setting[0], setting[1]); got != want {
			t.Errorf("%s = %s: %v", setting[0], setting[1], got)
		}
	}
}
