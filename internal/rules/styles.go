package rules

import (
	"path"
	"strings"
)

// What is known of how programs are called, where the file does not say.

// singleDash are programs whose options have one dash and several letters, and
// that read no clusters of letters.
const singleDash = `find gfind go gofmt java javac javap jar openssl terraform tofu packer consul vault nomad
	ffmpeg ffprobe ffplay convert magick identify mogrify montage clang-tidy dart scala kotlinc
	xterm qemu-system-x86_64 tclsh wish csc mcs protoc`

// withSubcommands are programs whose first word says what to do.
const withSubcommands = `git hub gh glab svn hg jj fossil npm pnpm yarn bun deno corepack go cargo rustup
	docker podman nerdctl buildah skopeo docker-compose podman-compose kubectl helm kustomize kind minikube oc
	pip pip3 pipx uv poetry pdm hatch conda mamba bundle gem rails composer mix dotnet swift flutter dart
	terraform tofu packer vault consul nomad pulumi aws gcloud az doctl flyctl fly heroku vercel netlify wrangler
	apt apt-get apt-cache dnf yum zypper apk brew port snap flatpak nix systemctl journalctl loginctl machinectl
	openssl ip nmcli bazel meson ng nx turbo lerna firebase supabase prisma tipstaff`

// abbreviating are programs that complete the beginning of a subcommand.
const abbreviating = `npm hg ip jj systemctl nmcli`

// otherNames are subcommands that go by several names: the first of each line
// is what the others mean.
var otherNames = map[string]string{
	"npm": `install i in ins inst insta instal isnt isnta isntal isntall add
		uninstall un unlink remove rm r
		exec x
		run-script run rum urn
		update up upgrade udpate
		config c
		adduser login add-user
		version verison
		view v info show
		rebuild rb
		link ln`,
	"pnpm": `install i
		remove rm uninstall un
		update up upgrade
		run run-script`,
	"cargo": `build b
		check c
		doc d
		test t
		run r
		remove rm`,
}

// plainName takes the directory and the version off a name: /usr/bin/python3.11
// is python. Only what denies may go by it.
func plainName(name string) string {
	base := path.Base(name)
	if trimmed := strings.TrimRight(base, "0123456789.-"); trimmed != "" {
		return trimmed
	}
	return base
}

func aliasesOf(program string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(otherNames[program]) {
		names := strings.Fields(line)
		for _, other := range names[1:] {
			out[other] = names[0]
		}
	}
	return out
}

func knows(list, program string) bool {
	for name := range strings.FieldsSeq(list) {
		if name == program {
			return true
		}
	}
	return false
}

// styleOf says how a program is called.
func styleOf(program string) *style {
	s := &style{
		single:      knows(singleDash, program),
		subcommands: knows(withSubcommands, program),
		abbreviates: knows(abbreviating, program),
		aliases:     aliasesOf(program),
		known:       map[string]bool{},
		plain:       map[string]bool{},
		final:       map[string]bool{},
	}
	return s
}

// declare takes what a file says of it.
func (s *style) declare(subcommands, singleDash Flag) {
	if subcommands.At.Set() {
		s.subcommands = subcommands.On
	}
	if singleDash.At.Set() {
		s.single = singleDash.On
	}
}
