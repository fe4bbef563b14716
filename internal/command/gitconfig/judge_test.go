package gitconfig_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tipstaff/internal/command/gitconfig"
)

// base is what a person has: settings, and entries that name programs.
const base = "[core]\n\tbare = false\n\tpager = less\n[alias]\n\tx = \"!sh\" # a person's\n\ty = log\n[user]\n\tname = me\n"

var testRepository = gitconfig.Repository{Dir: "/ws/.git"}

func TestWhatCommandsWriteEveryDayPasses(t *testing.T) {
	for says, proposed := range map[string]string{
		"nothing changed":               base,
		"another layout":                "[core]\nbare=false\n pager=\"less\"\n[ALIAS]\nX=!sh\nY=log\n[user]name=me",
		"a new name":                    strings.Replace(base, "= me", "= you", 1),
		"no name":                       strings.Replace(base, "\tname = me\n", "", 1),
		"a remote":                      base + "[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
		"a branch":                      base + "[branch \"a.b/c\"]\n\tremote = origin\n\tmerge = refs/heads/a.b/c\n\trebase = true\n",
		"a branch without a remote":     base + "[branch \"a\"]\n\tremote = .\n\tmerge = refs/heads/b\n",
		"a section before all":          "[pull]\n\trebase\n" + base,
		"a submodule":                   base + "[submodule \"lib\"]\n\tactive = true\n\turl = ../lib.git\n\tupdate = none\n",
		"sparse checkout":               base + "[core]\n\trepositoryformatversion = 1\n\tsparseCheckout = true\n[extensions]\n\tworktreeConfig = true\n",
		"a partial clone":               base + "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\turl=https://example.org/a\n",
		"gh":                            base + "[remote \"origin\"]\n\tgh-resolved = base\n",
		"a path":                        base + "[remote \"o\"]\n\turl = /srv/a.git\n\tpushurl = file:///srv/a.git\n",
		"an address of IPv6":            base + "[remote \"o\"]\n\turl = ssh://git@[::1]:22/a\n",
		"a path with two colons":        base + "[remote \"o\"]\n\turl = ./a::b\n",
		"signing":                       base + "[user]\n\tsigningKey = ~/.ssh/id_ed25519.pub\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgSign = false\n",
		"options of merge":              base + "[branch \"m\"]\n\tmergeOptions = --no-ff\n",
		"a pager switched off":          base + "[pager]\n\tlog = false\n",
		"lfs's mark":                    base + "[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://example.org/a.git/info/lfs\"]\n\taccess = basic\n",
		"all of it in a continued line": base + "[user]\nname = a\\\n[core]\\\nfsmonitor=x\n",
	} {
		if err := testRepository.Judge([]byte(base), []byte(proposed)); err != nil {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestWhatNamesAProgramIsRefusedAndTheReasonSaysWhatToDo(t *testing.T) {
	for _, c := range []struct{ add, key, why string }{
		{"[core]\n\tfsmonitor = x", "core.fsmonitor", "only false may be set (git runs the program"},
		{"[core]\n\tfsmonitor = x\n\tfsmonitor = false", "core.fsmonitor", "git runs the program"},
		{"[CORE]\n\tHooksPath = x", "core.hookspath", "git config core.hookspath VALUE"},
		{"[core]hooksPath", "core.hookspath", "git runs the programs in the directory"},
		{"[core]\n\tpager = less", "core.pager", "git runs it"},
		{"[alias]\n\tz = log", "alias.z", "an alias may be a shell command"},
		{"[alias \"z\"]\n\tcommand = log", "alias.z.command", "an alias may be a shell command"},
		{"[include]\n\tpath = x", "include.path", "git reads the file that it names"},
		{"[includeIf \"gitdir:/\"]\n\tpath = x", "includeif.gitdir:/.path", "git reads the file that it names"},
		{"[branch \"m\"]\n\tremote = a\n[core]\n\tfsmonitor = x", "core.fsmonitor", "git runs"},
		{"[filter \"lfs\"]\n\tsmudge = git-lfs smudge -- %f", "filter.lfs.smudge", "git lfs install --local writes filters that name a program; ask a person to run git lfs install"},
		{"[remote \"a\"]\n\turl = ext::sh", "remote.a.url", "it makes git run the program git-remote-ext"},
		{"[remote \"a\"]\n\turl = a.b-1+c::x", "remote.a.url", "it makes git run the program git-remote-a.b-1+c"},
		{"[remote \"a\"]\n\turl = ::x", "remote.a.url", "it makes git run the program git-remote-"},
		{"[remote \"a\"]\n\turl = foo://x", "remote.a.url", "it makes git run the program git-remote-foo"},
		{"[remote \"a\"]\n\turl = HTTPS://x", "remote.a.url", "it makes git run the program git-remote-HTTPS"},
		{"[remote \"a\"]\n\tpushurl = fd::7", "remote.a.pushurl", "git-remote-fd"},
		{"[remote \"a\"]\n\turl = -oProxyCommand=x", "remote.a.url", "could take it for an option"},
		{"[remote \"a\"]\n\turl = ssh://-oProxyCommand=x/y", "remote.a.url", "its host begins with"},
		{"[remote \"a\"]\n\turl = ssh://%2DoProxyCommand=x/y", "remote.a.url", "its host begins with"},
		{"[remote \"a\"]\n\turl = ssh://[-oProxyCommand=x]/y", "remote.a.url", "its host begins with"},
		{"[remote \"a\"]\n\turl = \"https://a\\nb/\"", "remote.a.url", "it holds a control character"},
		{"[remote \"a\"]\n\turl = https://a%0Ab/", "remote.a.url", "it holds a control character"},
		{"[remote \"a\"]\n\turl", "remote.a.url", "only an address without a helper may be set"},
		{"[remote \"ext::sh\"]\n\tfetch = a", "remote.ext::sh.fetch", "as the name of a remote is an address too, it makes git run"},
		{"[remote \"--upload-pack=x\"]\n\turl = /a", "remote.--upload-pack=x.url", "could take it for an option"},
		{"[remote \"a\"]\n\tuploadpack = x", "remote.a.uploadpack", "git runs it"},
		{"[remote \"a\"]\n\tvcs = x", "remote.a.vcs", "git-remote-VCS"},
		{"[remote]\n\tpushDefault = ext::x", "remote.pushdefault", "git-remote-ext"},
		{"[remotes]\n\tall = a ext::x", "remotes.all", "only names of remotes may be set"},
		{"[branch \"m\"]\n\tremote = ext::x", "branch.m.remote", "git-remote-ext"},
		{"[branch \"m\"]\n\tpushRemote = a::x", "branch.m.pushremote", "git-remote-a"},
		{"[branch \"m\"]\n\tmerge = --output=x", "branch.m.merge", "one line that does not begin with"},
		{"[branch \"m\"]\n\tmergeOptions = --strategy=x", "branch.m.mergeoptions", "git-merge-NAME"},
		{"[extensions]\n\tpartialClone = ext::x", "extensions.partialclone", "git-remote-ext"},
		{"[pull]\n\ttwohead = x", "pull.twohead", "git-merge-NAME"},
		{"[submodule \"s\"]\n\tupdate = !x", "submodule.s.update", `begins with "!" is a command`},
		{"[submodule \"s\"]\n\turl = ext::x", "submodule.s.url", "git-remote-ext"},
		{"[rebase]\n\tinstructionFormat = %s%nexec x", "rebase.instructionformat", `a line "exec" is a command`},
		{"[pager]\n\tlog = x", "pager.log", "only true or false may be set"},
		{"[url \"ext::\"]\n\tinsteadOf = x", "url.ext::.insteadof", "it turns an address into another one"},
		{"[http]\n\tproxy = x", "http.proxy", "through which host"},
		{"[http \"https://a\"]\n\tsslVerify = false", "http.https://a.sslverify", "with which checks"},
		{"[credential]\n\thelper = !x", "credential.helper", "told passwords"},
		{"[core]\n\tworktree = ../x", "core.worktree", "only a path into the work tree of the super project"},
		{"[core]\n\tsharedRepository = world", "core.sharedrepository", "lets other users write"},
		{"[trailer \"a\"]\n\tcmd = x", "trailer.a.cmd", "git runs it"},
		{"[diff \"a\"]\n\ttextconv = x", "diff.a.textconv", "git runs it"},
		{"[merge \"a\"]\n\tdriver = x", "merge.a.driver", "git runs it"},
		{"[gpg \"ssh\"]\n\tdefaultKeyCommand = x", "gpg.ssh.defaultkeycommand", "git runs it"},
		{"[gc]\n\trecentObjectsHook = x", "gc.recentobjectshook", "git runs it"},
		{"[hook \"a\"]\n\tcommand = x", "hook.a.command", "git runs it as a hook"},
		{"[user]\n\tname = \"a\\nb\"", "user.name", "one line without control characters"},
		{"[user \"a\"]\n\tname = b", "user.a.name", "not among the keys that are known"},
		{"[nonsense]\n\tx = y", "nonsense.x", "not among the keys that are known"},
		{"[remote \"a`b\"]\n\tvcs = x", "\"remote.a`b.vcs\"", "git-remote-VCS"},
	} {
		err := testRepository.Judge([]byte(base), []byte(base+c.add))
		var refusal *gitconfig.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%q passes: %v", c.add, err)
			continue
		}
		if f := refusal.Findings[0]; f.Key != c.key || !strings.Contains(f.String(), c.why) || !strings.Contains(f.String(), "ask a person") {
			t.Errorf("%q: %s; want %s, %s", c.add, f, c.key, c.why)
		}
		if found := testRepository.Unsafe([]byte(c.add)); len(found) == 0 || found[0].Key != c.key {
			t.Errorf("%q, never accepted: %v", c.add, found)
		}
	}
}

func TestWhatAPersonHasPutThereStays(t *testing.T) {
	for _, c := range []struct{ says, proposed, why string }{
		{"removed", "[core]\n\tbare = false\n\tpager = less\n[alias]\n\ty = log\n", "alias.x may not be removed or changed"},
		{"all removed", "", "core.pager may not be removed"},
		{"changed", strings.Replace(base, "= log", "= show", 1), "alias.y may not be set"},
		{"in another order", strings.Replace(base, "\tx = \"!sh\" # a person's\n\ty = log\n", "\ty=log\n\tx=!sh\n", 1), "may not change its place"},
		{"twice", base + "[alias]\n\tx = \"!sh\"\n", "alias.x may not be set"},
		{"without a value", strings.Replace(base, "pager = less", "pager", 1), "core.pager may not be set"},
		{"unreadable", base + "[x", "cannot read the proposed configuration: line 9"},
	} {
		err := testRepository.Judge([]byte(base), []byte(c.proposed))
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
	if err := testRepository.Judge([]byte("[x"), []byte(base)); err == nil || !strings.Contains(err.Error(), "the accepted configuration") {
		t.Errorf("beside an unreadable one: %v", err)
	}
}

func TestAPersonsValueIsNotShownAndNotShadowed(t *testing.T) {
	mine := "[remote \"o\"]\n\turl = corp::secret\n[submodule \"s\"]\n\tupdate = !secret\n[http]\n\textraHeader = secret\n"
	for says, c := range map[string]struct{ proposed, key string }{
		"another url first":       {"[remote \"o\"]\n\turl = /x\n" + mine, "remote.o.url"},
		"another url last":        {mine + "[remote \"o\"]\n\turl = /x\n", "remote.o.url"},
		"another way to update":   {mine + "[submodule \"s\"]\n\tupdate = none\n", "submodule.s.update"},
		"a remote that goes":      {strings.Replace(mine, "\turl = corp::secret\n", "", 1), "remote.o.url"},
		"a header that is new":    {mine + "[http]\n\textraHeader = x\n", "http.extraheader"},
		"everything goes":         {"", "remote.o.url"},
		"an address takes a turn": {strings.Replace(mine, "corp::secret", "/x", 1), "remote.o.url"},
	} {
		err := testRepository.Judge([]byte(mine), []byte(c.proposed))
		if err == nil || !strings.Contains(err.Error(), c.key) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", says, err)
		}
	}
	if err := testRepository.Judge([]byte(mine), []byte("[remote \"p\"]\n\turl = /x\n"+mine+"[remote \"o\"]\n\tfetch = +a:b\n")); err != nil {
		t.Errorf("another remote: %v", err)
	}
}

func TestAHarmlessEntryMayNotGiveAKeptOneAnotherMeaning(t *testing.T) {
	module := gitconfig.Repository{Dir: "/ws/.git/modules/lib"}
	for _, c := range []struct {
		says          string
		in            gitconfig.Repository
		old, proposed string
		why           string
	}{
		{"a work tree is denied", testRepository, "[core]\nbare=false", "[core]\nbare=true", "core.bare may not be switched on"},
		{"and where nothing said that there is one", testRepository, "", "[core]\nbare", "core.bare may not be switched on"},
		{"it stays bare", testRepository, "[core]\nbare=true", "[user]\nname=x\n[core]\nbare=1", ""},
		{"a bare one", gitconfig.Repository{Dir: "/ws/a.git"}, "", "[core]\nbare=true", ""},
		{"config.worktree counts", testRepository, "", "[extensions]\nworktreeConfig=true", ""},
		{"it counts no longer", testRepository, "[extensions]\nworktreeConfig=true", "", "extensions.worktreeconfig may not be switched off"},
		{"nor by a second entry", testRepository, "[extensions]\nworktreeConfig", "[extensions]\nworktreeConfig\nworktreeConfig=false", "may not be switched off"},
		{"a submodule's tree", module, "[core]\nhooksPath=/h", "[core]\nhooksPath=/h\nworktree=../../../lib", ""},
		{"beside relative hooks", module, "[core]\nhooksPath=h\nworktree=../../../lib", "[core]\nhooksPath=h\nworktree=../../../other", "core.worktree may not be changed"},
		{"hooks of the home", module, "[core]\nhooksPath=~/h", "[core]\nhooksPath=~/h\nworktree=../../../other", ""},
	} {
		err := c.in.Judge([]byte(c.old), []byte(c.proposed))
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v, want %q", c.says, err, c.why)
		}
	}
}

func TestTheWorkTreeOfASubmoduleLiesInThatOfItsSuperProject(t *testing.T) {
	for _, c := range []struct {
		dir, value string
		ok         bool
	}{
		{"/ws/.git/modules/lib", "../../../lib", true},
		{"/ws/.git/modules/a/b", "../../../../third/b", true},
		{"/ws/.git/modules/a/modules/b", "../../../../../a/b", true},
		{"/ws/.git/modules/lib", "../../..", false},
		{"/ws/.git/modules/lib", "../../../../other", false},
		{"/ws/.git/modules/lib", "../../../../wsother/x", false},
		{"/ws/.git/modules/lib", "../../../lib/../../x", false},
		{"/ws/.git/modules/lib", "/ws/lib", false},
		{"/ws/.git/modules/lib", "", false},
		{"/ws/.git/modules/lib", "../..", false},
		{"/ws/.git/modules/lib", "../../../sub/.git", false},
		{"/ws/.git/modules/lib", "../../../sub/.GIT/x", false},
		{"/ws/.git/modules/lib", "../../../a\nb", false},
		{"/ws/.git", "../lib", false},
		{"/ws/.git", "..", false},
		{"/ws/.git/hooks", "../../lib", false},
		{"/ws/a/modules/lib", "../../../lib", false},
		{"/ws/.git/worktrees/t/modules/lib", "../../../../../../t/lib", false},
		{"/ws/.git/worktrees/modules/x", "../../../../lib", false},
		{"", "lib", false},
	} {
		value := strings.ReplaceAll(c.value, "\n", "\\n")
		err := gitconfig.Repository{Dir: c.dir}.Judge(nil, []byte("[core]\nworktree = \""+value+"\""))
		if (err == nil) != c.ok {
			t.Errorf("%s, %q: %v", c.dir, c.value, err)
		}
	}
}

func TestWhatNobodyAcceptedIsListedWhole(t *testing.T) {
	found := testRepository.Unsafe([]byte(base))
	var keys []string
	for _, f := range found {
		keys = append(keys, f.Key)
	}
	if got := strings.Join(keys, " "); got != "core.pager alias.x alias.y" {
		t.Errorf("found: %s", got)
	}
	if found := testRepository.Unsafe([]byte("[core]\n\tbare = true\n[user]\n\tname = x\n")); len(found) != 0 {
		t.Errorf("in a harmless one: %v", found)
	}
	found = testRepository.Unsafe([]byte("[core]\npager=x\n]"))
	if len(found) != 2 || !strings.Contains(found[0].String(), "cannot be read") || found[1].Key != "core.pager" {
		t.Errorf("in an unreadable one: %v", found)
	}
	many := "[alias]\n" + strings.Repeat("a = b\n", 1000)
	if found := testRepository.Unsafe([]byte(many)); len(found) != 101 || found[100].What != "and 900 more" {
		t.Errorf("of very many: %d, %v", len(found), found[len(found)-1])
	}
	err := testRepository.Judge(nil, []byte(many))
	if err == nil || !strings.HasSuffix(err.Error(), ". and 997 more") || len(err.Error()) > 2000 {
		t.Errorf("of very many: %v", err)
	}
	long := "[alias \"" + strings.Repeat("a", 4000) + "\"]\nb = c"
	if s := testRepository.Judge(nil, []byte(long)).Error(); len(s) > 600 {
		t.Errorf("of a long key: %s", s)
	}
}

func TestWhatLeadsToOtherFilesIsTold(t *testing.T) {
	entries, err := gitconfig.Parse([]byte("[include]\npath=a\npath=b\n[includeIf \"gitdir:/x\"]\npath=c\n[include \"x\"]\npath=no\n[includeIf]\npath=no\n" +
		"[core]\nhooksPath=h\nhooksPath=i\nworktree=w\nbare=no\n[core \"x\"]\nhooksPath=no\n[extensions]\nworktreeConfig=maybe\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := gitconfig.Includes(entries); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("includes: %v", got)
	}
	s := gitconfig.SettingsOf(entries)
	if s.HooksPath != "i" || s.WorkTree != "w" || !s.WorktreeConfig || s.Bare == nil || *s.Bare {
		t.Errorf("settings: %+v", s)
	}
}
