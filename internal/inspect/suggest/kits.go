package suggest

// kit is what a kind of project needs.
type kit struct {
	name string
	// marks are files at the top of a project that say that it is of this kind;
	// * stands for text. No mark: every project.
	marks   []string
	presets []string
	lines   []line
	hosts   []string // where its package manager fetches from
}

// line is one row of the policy.
type line struct {
	why      string   // the reason, which stands above the row
	programs []string // names
	// needs are files at the top of the project without which the line is left
	// out; empty: none.
	needs []string
	// optional leaves the names out that are not installed.
	optional bool
	deny     []string
	denyWhy  string
	ask      []string
	askWhy   string
	inside   bool // every path must lead inside the roots
	tests    []test
}

type test struct{ run, expect string }

const installs = "It installs what others have written, which then runs here, or it reaches others."

// kits are in the order in which they stand in a policy.
var kits = []kit{
	{
		name:    "every project",
		presets: []string{"text", "find", "archive", "shells", "interpreters", "system", "remote", "tools"},
		lines: []line{
			{
				why:      "Reading changes nothing.",
				programs: []string{"ls", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "stat", "du", "diff", "basename", "dirname", "realpath", "file", "date", "nproc", "uname", "which", "pwd", "echo", "printf", "true", "false", "test"},
				tests:    []test{{"ls -la", "allow"}, {"cat README.md", "allow"}},
			},
			{
				why:      "Searching too; what starts other programs (find -exec, sed e) is judged as those, or refused.",
				programs: []string{"grep", "find", "sed", "awk"},
				tests:    []test{{"grep -rn TODO .", "allow"}, {"find . -name x -exec rm -rf / {} +", "deny"}},
			},
			{why: "And faster tools for it, as far as they are installed.", programs: []string{"rg", "fd", "jq", "yq", "tree"}, optional: true},
			{
				why:      "Changing files; the sandbox holds all writing in the project.",
				programs: []string{"cp", "mv", "mkdir", "touch", "tar", "gzip"},
				tests:    []test{{"mkdir -p build", "allow"}},
			},
			{
				why:      "Removing, by names inside the project only.",
				programs: []string{"rm"}, inside: true,
				tests: []test{{"rm -rf build", "allow"}, {"rm -rf /", "deny"}},
			},
			{
				why:      "These start another program, which is judged as well.",
				programs: []string{"env", "timeout", "time", "xargs"},
				tests:    []test{{"timeout 60 sudo ls", "deny"}},
			},
		},
	},
	{
		name: "git", marks: []string{".git"}, presets: []string{"git"},
		lines: []line{{
			why:      "Work on branches and commit; what reaches others is a person's to allow.",
			programs: []string{"git"}, deny: []string{"push --force|-f|--mirror"}, denyWhy: "It rewrites or removes what others have fetched. Push a new branch.", ask: []string{"push"}, askWhy: "It publishes commits.",
			tests: []test{{"git status", "allow"}, {"git commit -m 'push --force is only text here'", "allow"}, {"git push origin main", "ask"}, {"git push -f origin main", "deny"}},
		}},
	},
	{
		name: "Go", marks: []string{"go.mod", "go.work"}, presets: []string{"go"},
		lines: []line{{
			why:      "Build, test and format; modules come from the proxy below.",
			programs: []string{"go", "gofmt"}, ask: []string{"install"}, askWhy: installs,
			tests: []test{{"go test ./...", "allow"}, {"go build ./...", "allow"}, {"go install example.org/x@latest", "ask"}},
		}},
		hosts: []string{"proxy.golang.org", "sum.golang.org", "storage.googleapis.com"},
	},
	{
		name: "JavaScript", marks: []string{"package.json"}, presets: []string{"node"},
		lines: []line{
			{
				why:      "Run the project's scripts and tests; what comes from the registry is a person's to allow.",
				programs: []string{"npm"}, ask: []string{"install|ci|update", "exec", "publish|unpublish|deprecate", "access|owner|token|login|adduser|logout"}, askWhy: installs,
				tests: []test{{"npm test", "allow"}, {"npm run build", "allow"}, {"npm install left-pad", "ask"}, {"npm publish", "ask"}},
			},
			{
				why:      "pnpm-lock.yaml says that pnpm is used.",
				programs: []string{"pnpm"}, needs: []string{"pnpm-lock.yaml"}, ask: []string{"install|add|update", "dlx", "publish", "login"}, askWhy: installs,
				tests: []test{{"pnpm test", "allow"}, {"pnpm add x", "ask"}},
			},
			{
				why:      "yarn.lock says that Yarn is used.",
				programs: []string{"yarn"}, needs: []string{"yarn.lock"}, ask: []string{"install|add|up|upgrade", "dlx", "npm", "publish", "login"}, askWhy: installs,
				tests: []test{{"yarn test", "allow"}, {"yarn add x", "ask"}},
			},
			{
				why:      "Programs of the project run as its scripts do.",
				programs: []string{"node"},
				tests:    []test{{"node --test", "allow"}},
			},
		},
		hosts: []string{"registry.npmjs.org", "registry.yarnpkg.com"},
	},
	{
		name: "Python", marks: []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini"}, presets: []string{"python"},
		lines: []line{
			{
				why:      "Run and test the project's code.",
				programs: []string{"python", "python3", "pytest"},
				tests:    []test{{"pytest -q", "allow"}, {"python3 -m pytest", "allow"}},
			},
			{
				why:      "pip lists and shows; what it installs is a person's to allow.",
				programs: []string{"pip", "pip3"}, ask: []string{"install|download|wheel"}, askWhy: installs,
				tests: []test{{"pip list", "allow"}, {"pip install requests", "ask"}},
			},
			{
				why:      "uv.lock says that uv is used.",
				programs: []string{"uv"}, needs: []string{"uv.lock"}, ask: []string{"add|sync|pip|tool|publish"}, askWhy: installs,
				tests: []test{{"uv run pytest", "allow"}, {"uv add requests", "ask"}},
			},
			{
				why:      "poetry.lock says that Poetry is used.",
				programs: []string{"poetry"}, needs: []string{"poetry.lock"}, ask: []string{"add|install|update|publish|self"}, askWhy: installs,
				tests: []test{{"poetry run pytest", "allow"}, {"poetry add requests", "ask"}},
			},
			{why: "Checkers, as far as they are installed.", programs: []string{"ruff", "mypy", "black", "isort", "tox", "nox", "pyright"}, optional: true},
		},
		hosts: []string{"pypi.org", "files.pythonhosted.org"},
	},
	{
		name: "Rust", marks: []string{"Cargo.toml"}, presets: []string{"rust"},
		lines: []line{{
			why:      "Build and test; crates come from the registry below.",
			programs: []string{"cargo", "rustc", "rustfmt"}, ask: []string{"install|publish|login|logout|owner|yank"}, askWhy: "It installs programs, or changes what others get.",
			tests: []test{{"cargo test", "allow"}, {"cargo publish", "ask"}},
		}},
		hosts: []string{"index.crates.io", "static.crates.io", "crates.io"},
	},
	{
		name: "Java", marks: []string{"pom.xml", "build.gradle", "build.gradle.kts"}, presets: []string{"build"},
		lines: []line{{
			why:      "Build and test.",
			programs: []string{"mvn", "gradle", "java", "javac"}, ask: []string{"deploy", "publish"}, askWhy: "It publishes.",
			tests: []test{{"mvn test", "allow"}, {"mvn deploy", "ask"}},
		}},
		hosts: []string{"repo.maven.apache.org", "plugins.gradle.org", "services.gradle.org"},
	},
	{
		name: "make", marks: []string{"Makefile", "makefile", "GNUmakefile"}, presets: []string{"build"},
		lines: []line{{
			why:      "The project's own targets; what they run, the sandbox confines.",
			programs: []string{"make"}, ask: []string{"install", "publish", "deploy", "release"}, askWhy: "Its name says that it reaches beyond the project.",
			tests: []test{{"make test", "allow"}, {"make install", "ask"}},
		}},
	},
	{
		name: "CMake", marks: []string{"CMakeLists.txt", "meson.build"}, presets: []string{"build"},
		lines: []line{{
			why:      "Configure, build and test.",
			programs: []string{"cmake", "ctest", "ninja", "meson"}, ask: []string{"install", "--install"}, askWhy: installs,
			tests: []test{{"cmake --build build", "allow"}, {"ctest", "allow"}},
		}},
	},
}

// remarks are marks that bring no rule, and why.
var remarks = []struct{ mark, text string }{
	{"Dockerfile", "docker is left out: its socket is root on this machine, and no command in the sandbox reaches it."},
	{"compose.yaml", "docker is left out: its socket is root on this machine, and no command in the sandbox reaches it."},
	{"docker-compose.yml", "docker is left out: its socket is root on this machine, and no command in the sandbox reaches it."},
}
