package programs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/command/programs"
)

// TestWhatArgumentsComeTo: acts in the order of the arguments, with the
// deciding row of the table.
func TestWhatArgumentsComeTo(t *testing.T) {
	names := map[programs.ActKind]string{
		programs.Refused: "refused", programs.Starts: "starts", programs.RunsLine: "line", programs.RunsValue: "value",
		programs.PutsInEnv: "env", programs.Sets: "sets", programs.SetsNamed: "named", programs.RunsCode: "code",
	}
	for _, c := range []struct{ says, line, want string }{
		{"a program without rows", "ls -l a", ""},
		{"a wrapper", "nice -n 5 ls -l", "starts 2 nice: ls -l"},
		{"a wrapper's own operands", "timeout -k1 5 ls", "starts 2 timeout: ls"},
		{"a wrapper's variables", "env A=1 -u B ls", "env 0 env: A=1; starts 3 env: ls"},
		{"an unknown option of a wrapper", "nice --frob ls", "refused 0 nice: --frob; starts 1 nice: ls"},
		{"a command that a wrapper splits", "env -S ls x", "line 1 env -S: ls + x"},
		{"a shell's words", "watch -n 2 ls -l", "line 2 watch: ls -l"},
		{"the same without a shell", "watch -x ls -l", "starts 1 watch: ls -l"},
		{"an option that starts a program", "tar -cIgzip -f a b", "value 0 tar -I: gzip"},
		{"the same in an old spelling", "tar cIf gzip a b", "value 1 tar -I: gzip"},
		{"an abbreviated one", "sort --comp=x a", "value 0 sort --compress-program: x"},
		{"a part that ends with ;", "find . -exec ls {} ; -delete", "starts 2 find -exec: ls {}; starts 5 find -delete: rm"},
		{"the value of an option is none", "find . -name -delete", ""},
		{"a setting", "git -c a.b=c status", "sets 1 git -c: a.b=c"},
		{"a setting of two operands", "git config core.pager less", "named 2 git config: core.pager=less"},
		{"a subcommand's option", "git clone -u x y", "value 2 git clone -u: x"},
		{"the same letter of another subcommand", "git push -u origin main", ""},
		{"a subcommand without rows", "git commit -m x", ""},
		{"code", "sed -n -e p f", "code 2 sed: p"},
		{"code that is an operand", "sed p f", "code 0 sed: p"},
		{"an option that is inherited", "npm test --script-shell=x", "value 1 npm test --script-shell: x"},
		{"what is not judged", "crontab x", "refused -1 crontab: crontab"},
		{"with what is asked only", "crontab -l", ""},

		// What may be a flag does not take an option as its value.
		{"a flag that elsewhere has a text", "hg log -m --config a=b", "sets 3 hg --config: a=b"},
		{"what is glued to an optional value", "sed -i.beg s/a/b/ f", "code 1 sed: s/a/b/"},
		{"an option whose value is optional", "tar cf a b --checkpoint --checkpoint-action=exec=x", "code 4 tar: exec=x"},
		{"a flag of rebase", "git rebase -S -x ls main", "value 3 git rebase -x: ls"},
		{"a flag of a program whose operands count", "sqlite3 --json .shell", "code 1 sqlite3: .shell"},
		{"a flag that means text elsewhere", "rg --json --pre=x y", "value 1 rg --pre: x"},
		{"and in front of a subcommand", "ip --json netns exec n ls", "starts 4 ip netns exec: ls"},
	} {
		t.Run(c.says, func(t *testing.T) {
			words := strings.Fields(c.line)
			var got []string
			for _, a := range programs.Read(words[0], words[1:], programs.Position{}).Acts {
				text := a.Text
				if a.Kind == programs.Starts {
					text = strings.Join(a.Words, " ")
				}
				if len(a.More) > 0 {
					text += " + " + strings.Join(a.More, " ")
				}
				got = append(got, fmt.Sprintf("%s %d %s: %s", names[a.Kind], a.Index, a.By, text))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.line, diff)
			}
		})
	}
}

// TestWhereTextStands: the arguments that are text are marked with T.
func TestWhereTextStands(t *testing.T) {
	for line, want := range map[string]string{
		"ls a b":                              "..",
		"git commit -am x y":                  "..T.",
		"git commit --message=x":              ".T",
		"git -C d grep -n x y":                "....T.",
		"git config user.name x":              ".TT",
		"grep -rn -A 3 x f":                   "...T.",
		"grep -e x f":                         ".T.",
		"jq --arg a b c f":                    "..TT.",
		"cut -d; -f1":                         "T.",
		"python3 -uc x y z":                   ".TTT",
		"python3 -W x -m pytest -k y z":       ".....T.",
		"uv run --with x pytest -k y":         ".....T",
		"bundle exec rspec -e x":              "...T",
		"npx sometool --title x":              "...",
		"sometool --title x --body=y --title": ".TT.",
		"sometool --title --body y":           ".T.",
		"find . -name x -exec grep y {} ;":    "..T...TT",
		"docker ps --format x":                "..T",
		"bash -c x":                           "..",
		"curl -sSd x -o f https://h.test":     ".T..T",
		"yq .a b":                             "TT",
		"timeout 5 git commit -m x":           ".....",
		"psql -tc x -v a=b":                   ".T.T",
		"poetry publish --message x":          "..T",
		"strace --title x ls":                 "...",
		"ssh-keygen -C x -f y":                ".T..",
		"openssl req -subj x":                 "..T",
		"cargo test x":                        ".T",
		"perl -i -pe x f":                     "..T.",
		"xargs -I {} git commit -m {}":        "......",
		"gh -R a/b search x y":                "...TT",
		"podman run -xx;rm y":                 "...",
		"az --que x":                          "..",
		"hg log -m --title x":                 "..T.",
		"awk -e x y":                          ".T.",
		"sqlite3 -separator | f x":            ".TTT",
		"awk -F | -v a=b x f":                 ".T.TT.",
	} {
		words := strings.Fields(line)
		var got strings.Builder
		for _, is := range programs.Read(words[0], words[1:], programs.Position{}).Text {
			got.WriteByte(map[bool]byte{true: 'T', false: '.'}[is])
		}
		if got.String() != want {
			t.Errorf("%s: %s, want %s", line, got.String(), want)
		}
	}
}

// FuzzRead: no arguments make Read panic, and its result covers each of them.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"git\n-c\na=b", "find\n-exec\n+", "tar\ncIf", "env\n-S", "uv\nrun\nuv\nrun", "python\n-m", "jq\n--arg\na", "sg\n-c", "parallel\n:::", "x\n--json"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\n")
		r := programs.Read(words[0], words[1:], programs.Position{})
		if len(r.Text) != len(words)-1 {
			t.Errorf("%q: %d marks", words, len(r.Text))
		}
		for _, a := range r.Acts {
			if a.Index < -1 || a.Index > len(words) || a.By == "" && words[0] != "" {
				t.Errorf("%q: %+v", words, a)
			}
			programs.CodeStarts(a.Of, a.Text)
		}
	})
}
