package language_test

import (
	"fmt"
	"strings"
	"testing"

	"tipstaff/internal/policy/language"
)

// judged returns what a policy with one deny rule says of a command line.
func judged(t *testing.T, program, rule, line string) language.Verdict {
	t.Helper()
	p, err := load(fmt.Sprintf("version: 1\ncommands:\n  %s: {allow: [\"*\"], deny: [%q]}\n", program, rule))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	return p.Judge(language.Query{Program: program, Args: language.Args{Words: words[1:]}}, language.Lexical())[0]
}

// TestAFullNameIsNoAbbreviationOfADeniedOption: full options were taken for the
// beginning of others, which their operators had denied. Where the program does
// abbreviate, a true abbreviation is still found.
func TestAFullNameIsNoAbbreviationOfADeniedOption(t *testing.T) {
	for _, c := range []struct{ rule, full, short string }{
		{"--files-from", "tar --file=a.tar -t", "tar --files-f x"},
		{"--exclude-from", "tar --exclude=x -cf a b", "tar --exclude-f x"},
		{"--config-file", "cmake --build build --config Release", "cmake --build build --config-f x"},
		{"--config-file", "clang-tidy --config=x a.c", "clang-tidy --config-f=x a.c"},
		{"--become-method", "ansible-playbook --become x.yml", "ansible-playbook --become-m=x x.yml"},
		{"--environment", "jest --env=jsdom", "jest --envi=x"},
		{"--extension", "eslint --ext .js src", "eslint --exte x src"},
		{"--diff-cmd", "svn log --diff", "svn log --diff-c x"},
		{"--strip-program", "install --strip a b", "install --strip-p=x a b"},
		{"--globalconfig", "npm ls --global", "npm ls --globalc x"},
		{"--save-exact", "npm ls --save", "npm ls --save-e"},
		{"--cursor-file", "journalctl --cursor=x", "journalctl --cursor-f=x"},
		{"--output-fields", "journalctl --output=json", "journalctl --output-f=x"},
		{"--user-agent", "curl --user a:b https://h", "curl --user-a x https://h"},
		{"--proxy-header", "curl --proxy http://p https://h", "curl --proxy-hea x https://h"},
		{"--data-binary", "curl --data x https://h", "curl --data-b x https://h"},
		{"--user-agent", "wget --user=x https://h", "wget --user-a=x https://h"},
		{"--exclude-dir", "grep --exclude=*.o -r x .", "grep --exclude-d=x -r x ."},
		{"--log-file", "pip install --log x y", "pip install --log-f x y"},
		{"--force-with-lease", "git push --force origin x", "git push --force-w origin x"},
		{"commit --allow-empty", "git commit --all -m x", "git commit --allow-em -m x"},
		{"--field-separator-zero", "psql --field-separator=x", "psql --field-separator-z"},
		{"--delete-excluded", "rsync --delete a b", "rsync --delete-e a b"},
		{"--pre-glob", "rg --pre x y", "rg --pre-g x y"},
		{"--glob-case-insensitive", "rg --glob x y", "rg --glob-c x y"},

		// These programs know no abbreviations.
		{"--volumes-from", "docker run --volume /work/a:/a x", ""},
		{"--volumes-from", "docker run --volumes x", ""},
		{"--client-certificate", "kubectl version --client", ""},
		{"--repository-config", "helm show chart x --repo https://h", ""},
		{"--repository-cache", "helm repo update --repository x", ""},
		{"--body-file", "gh pr create --body x", ""},
		{"--config-file", "podman build --config x", ""},
	} {
		program, _, _ := strings.Cut(c.full, " ")
		if v := judged(t, program, c.rule, c.full); v.Effect != language.Allow {
			t.Errorf("%s is taken for %s", c.full, c.rule)
		}
		if c.short == "" {
			continue
		}
		if v := judged(t, program, c.rule, c.short); v.Effect != language.Deny {
			t.Errorf("%s is not taken for %s", c.short, c.rule)
		}
	}
}

// TestADeniedOptionHasOtherSpellings: -n prod was denied, and --namespace prod
// passed.
func TestADeniedOptionHasOtherSpellings(t *testing.T) {
	for _, c := range []struct{ rule, denied, allowed string }{
		{"-n prod", "kubectl get pods --namespace prod", "kubectl get pods --namespace dev"},
		{"-n prod", "kubectl --namespace=prod get pods", "kubectl get pods"},
		{"-n prod", "kubectl get pods -nprod", "kubectl get pods -n dev"},
		{"--namespace prod", "kubectl get pods -n prod", "kubectl get pods -n dev"},
		{"-rf", "rm --recursive --force x", "rm --force x"},
		{"-rf", "rm -R --for x", "rm -R x"},
		{"-r", "rm --recurs x", "rm -f x"},
		{"-X DELETE", "curl --request DELETE https://h", "curl --request GET https://h"},
		{"-g", "npm install --global x", "npm install x"},
		{"commit --no-verify", "git commit -n -m x", "git commit -m x"},
		{"clean -f", "git clean --force", "git clean --dry-run"},
		{"-c", "psql --command=x", "psql -l"},
		{"-i", "sed --in-place s/a/b/ f", "sed s/a/b/ f"},
		{"-C", "make --directory=/x", "make"},
		{"-C", "tar --directory=/ -xf a", "tar -xf a"},
		{"-H", "systemctl --host=x status y", "systemctl status y"},
		{"run -v", "docker run --volume /:/x y", "docker run y"},
	} {
		program, _, _ := strings.Cut(c.denied, " ")
		if v := judged(t, program, c.rule, c.denied); v.Effect != language.Deny {
			t.Errorf("deny: [%s] lets %s through", c.rule, c.denied)
		}
		if v := judged(t, program, c.rule, c.allowed); v.Effect != language.Allow {
			t.Errorf("deny: [%s] stops %s", c.rule, c.allowed)
		}
	}
}
