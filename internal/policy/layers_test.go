package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"tipstaff/internal/policy"
)

func TestLayersAreWhatACommandWouldStart(t *testing.T) {
	for line, want := range map[string]string{
		"ls -l":                                   "ls -l",
		"timeout 20 npm publish":                  "timeout 20 npm publish; npm publish by timeout",
		"env A=1 nice -n 5 git push -f":           "env A=1 nice -n 5 git push -f; nice -n 5 git push -f by env; git push -f by nice",
		"python3 -m twine upload x":               "python3 -m twine upload x; twine upload x by python3 -m",
		"git for-each-repo --config=x -- push -f": "git for-each-repo --config=x -- push -f; git push -f by git for-each-repo",
		"yarn workspace a publish":                "yarn workspace a publish; yarn publish by yarn workspace",
		"find . -exec rm {} ;":                    "find . -exec rm {} ;; rm {} by find -exec, open",
		"xargs -n 1 kill":                         "xargs -n 1 kill; kill by xargs, open",
		"git -c alias.x=!make x":                  "git -c alias.x=!make x; make by git -c alias.x",
		"watch make; id":                          "watch make; id, not whole",
		"awk BEGIN{system(1)}":                    "awk BEGIN{system(1)}, not whole",
		"":                                        "",
		"tar --to-command=sh xf a":                "tar --to-command=sh xf a; sh by tar --to-command",
		"env env env env env env env env env env": "env env env env env env env env env env; env env env env env env env env env by env; env env env env env env env env by env; env env env env env env env by env; env env env env env env by env; env env env env env by env; env env env env by env; env env env by env; env env by env, not whole",
	} {
		layers, whole := policy.LayersOf(strings.Fields(line))
		var got []string
		for _, l := range layers {
			text := strings.Join(l.Argv, " ")
			if l.By != "" {
				text += " by " + l.By
			}
			if l.Open {
				text += ", open"
			}
			got = append(got, text)
		}
		text := strings.Join(got, "; ")
		if !whole {
			text += ", not whole"
		}
		if text != want {
			t.Errorf("%s:\n got %s\nwant %s", line, text, want)
		}
	}
	if layers, _ := policy.LayersOf([]string{"a", "b"}); fmt.Sprint(layers[0].Argv) != "[a b]" {
		t.Error(layers)
	}
}
