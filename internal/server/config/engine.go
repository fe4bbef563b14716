package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
)

// Engine are the settings of a fleet: where its NATS servers are, what this
// tipstaff is in it, and the files with its keys. Without Servers it is in none.
type Engine struct {
	Servers []string     // TIPSTAFF_ENGINE
	Roles   []natsx.Role // TIPSTAFF_ENGINE_ROLES; empty: by the subcommand
	Alone   bool         // TIPSTAFF_ENGINE_ROLES is none: only the trail is copied

	Audit    string // TIPSTAFF_ENGINE_AUDIT, as it is written
	EndsSoon bool   // no setting: the process runs one command

	Credentials    string // TIPSTAFF_ENGINE_CREDENTIALS: the key for the servers
	CA, Cert, Key  string // TIPSTAFF_ENGINE_TLS_CA, _CERT, _KEY
	SigningKey     string // TIPSTAFF_ENGINE_KEY: what a gateway or an operator signs statements with
	GatewaysFile   string // TIPSTAFF_ENGINE_GATEWAYS: whose statements a runner takes
	SealFile       string // TIPSTAFF_ENGINE_SEAL: hides addresses in ids
	OperatorsFile  string // TIPSTAFF_ENGINE_OPERATORS: whose people may look after what runs
	OperatorName   string // TIPSTAFF_OPERATOR_NAME
	AuditorKey     string // TIPSTAFF_ENGINE_AUDITOR: the key that copies are read with; "": Credentials
	AuditorName    string // TIPSTAFF_AUDITOR_NAME
	GatewayName    string // TIPSTAFF_GATEWAY_NAME
	RunnerName     string // TIPSTAFF_RUNNER_NAME; "": the host's
	RunnerLabels   fleet.Labels
	RunnerCapacity int           // TIPSTAFF_RUNNER_CAPACITY: sessions; TERMINAL_MAX_SESSIONS if it is not set
	RunnerTenant   int           // TIPSTAFF_RUNNER_TENANT_SESSIONS: of one tenant on this runner; 0: no bound
	RunnerDrain    time.Duration // TIPSTAFF_RUNNER_DRAIN: how long sessions have to end when the runner is to stop
	Patience       time.Duration // TIPSTAFF_ENGINE_PATIENCE: how long a gateway waits without a sign of life
	Wait           time.Duration // TIPSTAFF_ENGINE_WAIT: how long a new session waits for room
	TenantSessions int           // TIPSTAFF_ENGINE_TENANT_SESSIONS: of one tenant in the whole fleet; 0: no bound
}

const (
	maxPatience = 60_000
	maxWait     = 60_000
)

func (r *reader) engine(maxTerminalSessions int) Engine {
	e := Engine{
		Servers: r.list("TIPSTAFF_ENGINE"), Audit: r.engineAudit(),
		Credentials: r.path("TIPSTAFF_ENGINE_CREDENTIALS"),
		CA:          r.path("TIPSTAFF_ENGINE_TLS_CA"), Cert: r.path("TIPSTAFF_ENGINE_TLS_CERT"), Key: r.path("TIPSTAFF_ENGINE_TLS_KEY"),
		SigningKey: r.path("TIPSTAFF_ENGINE_KEY"), GatewaysFile: r.path("TIPSTAFF_ENGINE_GATEWAYS"), SealFile: r.path("TIPSTAFF_ENGINE_SEAL"),
		OperatorsFile: r.path("TIPSTAFF_ENGINE_OPERATORS"), OperatorName: r.member("TIPSTAFF_OPERATOR_NAME", "operator"),
		AuditorKey: r.path("TIPSTAFF_ENGINE_AUDITOR"), AuditorName: r.member("TIPSTAFF_AUDITOR_NAME", "auditor"),
		GatewayName: r.member("TIPSTAFF_GATEWAY_NAME", "gateway"), RunnerName: r.member("TIPSTAFF_RUNNER_NAME", ""),
		RunnerLabels:   r.labels(),
		RunnerCapacity: r.positive("TIPSTAFF_RUNNER_CAPACITY", maxTerminalSessions, maxSessions),
		RunnerTenant:   r.upTo("TIPSTAFF_RUNNER_TENANT_SESSIONS", 0, maxSessions),
		RunnerDrain:    r.millis("TIPSTAFF_RUNNER_DRAIN", 30*time.Second),
		Patience:       time.Duration(r.number("TIPSTAFF_ENGINE_PATIENCE", 5000, maxPatience)) * time.Millisecond,
		Wait:           time.Duration(r.upTo("TIPSTAFF_ENGINE_WAIT", 2000, maxWait)) * time.Millisecond,
		TenantSessions: r.upTo("TIPSTAFF_ENGINE_TENANT_SESSIONS", 0, maxFleetSessions),
	}
	e.Roles, e.Alone = r.roles()
	if len(e.Servers) > 0 {
		if err := natsx.CheckServers(e.Servers); err != nil {
			r.faults = append(r.faults, fmt.Errorf("TIPSTAFF_ENGINE: %w", err)) // without the value, which could hold a password
		}
	}
	return e
}

const maxFleetSessions = 100_000_000

func (r *reader) roles() (roles []natsx.Role, isAlone bool) {
	const name = "TIPSTAFF_ENGINE_ROLES"
	words := r.list(name)
	if len(words) == 1 && words[0] == alone {
		return nil, true
	}
	if len(words) == 1 && words[0] == string(natsx.Operator) {
		return []natsx.Role{natsx.Operator}, false
	}
	for _, word := range words {
		role := natsx.Role(word)
		if role != natsx.Gateway && role != natsx.Runner || slices.Contains(roles, role) {
			r.fault(name, "must be gateway, runner, or both with a comma between them; or operator, for people who look after a fleet; or none, for a server that stands alone and only copies its trail")
			return nil, false
		}
		roles = append(roles, role)
	}
	return roles, false
}

// member reads the name of a gateway or a runner.
func (r *reader) member(name, unset string) string {
	v := r.text(name, unset)
	if v != "" {
		if err := natsx.CheckName(v); err != nil {
			r.faults = append(r.faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	return v
}

func (r *reader) labels() fleet.Labels {
	const name = "TIPSTAFF_RUNNER_LABELS"
	l, err := fleet.ParseLabels(r.vars[name])
	if err != nil {
		r.fault(name, "%v", err)
	}
	return l
}

// On reports whether this tipstaff is part of a fleet.
func (e Engine) On() bool { return len(e.Servers) > 0 && !e.Alone }

// IsOperator reports whether people here look after a fleet, and no server is part of
// it.
func (e Engine) IsOperator() bool {
	return e.On() && slices.Equal(e.Roles, []natsx.Role{natsx.Operator})
}

// LikelyRoles are Roles or, where the subcommand would say it, those whose keys
// are set.
func (e Engine) LikelyRoles() []natsx.Role {
	if len(e.Roles) > 0 {
		return e.Roles
	}
	var roles []natsx.Role
	if e.SigningKey != "" || e.GatewaysFile == "" {
		roles = append(roles, natsx.Gateway)
	}
	if e.GatewaysFile != "" {
		roles = append(roles, natsx.Runner)
	}
	return roles
}

// NameIn is this machine's name in a role. A runner without a name has that of
// the host, as far as it can be one.
func (e Engine) NameIn(role natsx.Role, host string) string {
	switch {
	case role == natsx.Gateway:
		return e.GatewayName
	case role == natsx.Operator:
		return e.OperatorName
	case e.RunnerName != "":
		return e.RunnerName
	default:
		return natsx.NameOfHost(host)
	}
}

// Options are those of a connection in a role, under a name.
func (e Engine) Options(role natsx.Role, name string) natsx.Options {
	return natsx.Options{Servers: e.Servers, Role: role, Name: name, Credentials: e.Credentials, CA: e.CA, Cert: e.Cert, Key: e.Key}
}

// AuditorOptions are those of a connection that reads copies.
func (e Engine) AuditorOptions(name string) natsx.Options {
	o := e.Options(natsx.Auditor, name)
	o.Credentials = cmp.Or(e.AuditorKey, e.Credentials)
	return o
}

// CheckFiles says what cannot be used of the files that a connection needs, in any role
// and in none.
func (e Engine) CheckFiles() error {
	if (e.Cert == "") != (e.Key == "") {
		return errors.New("TIPSTAFF_ENGINE_TLS_CERT and TIPSTAFF_ENGINE_TLS_KEY belong together: set both or none")
	}
	return e.Options("", "").CheckFiles()
}

// Check says what is missing, or cannot be read, for these roles. It opens no
// connection.
func (e Engine) Check(roles []natsx.Role) error {
	var faults []error
	need := func(setting, value, why string) {
		if value == "" {
			faults = append(faults, fmt.Errorf("%s is not set: %s", setting, why))
		}
	}
	signs := func(who, takers string) {
		need("TIPSTAFF_ENGINE_KEY", e.SigningKey, "it names the file with the seed that this "+who+" signs with, and "+takers+" take nothing that is not signed; make it with: tipstaff engine key")
		if e.SigningKey != "" {
			_, err := natsx.NewSigner(e.SigningKey, natsx.Address{}, time.Now)
			faults = append(faults, err)
		}
	}
	faults = append(faults, e.CheckFiles())
	if e.AuditorKey != "" {
		faults = append(faults, natsx.CheckCredentials(e.AuditorKey))
	}
	if e.OperatorsFile != "" {
		_, err := natsx.ReadOperators(e.OperatorsFile)
		faults = append(faults, err)
	}
	if slices.Contains(roles, natsx.Operator) {
		signs("operator", "gateways and runners")
		return errors.Join(faults...)
	}
	need("TIPSTAFF_ENGINE_SEAL", e.SealFile, "it names a file with 32 bytes, the same on all gateways and runners; make it with: head -c 32 /dev/urandom")
	if e.SealFile != "" {
		_, err := fleet.ReadAddressCipher(e.SealFile)
		faults = append(faults, err)
	}
	if slices.Contains(roles, natsx.Gateway) {
		signs("gateway", "runners")
	}
	if slices.Contains(roles, natsx.Runner) {
		need("TIPSTAFF_ENGINE_GATEWAYS", e.GatewaysFile, "it names the file with the public keys of gateways, and this runner takes nothing from others")
		if e.GatewaysFile != "" {
			_, err := natsx.ReadGateways(e.GatewaysFile)
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// InTheClear names the servers that are reached without encryption on another
// machine: what commands print could be read on the way.
func (e Engine) InTheClear() []string {
	var clear []string
	for _, s := range e.Servers {
		host, ok := strings.CutPrefix(s, "nats://")
		local := strings.HasPrefix(host, "127.") || strings.HasPrefix(host, "localhost:") || strings.HasPrefix(host, "[::1]")
		if ok && !local && e.CA == "" && e.Cert == "" {
			clear = append(clear, s)
		}
	}
	return clear
}
