package server

import (
	"os"

	"tipstaff/internal/exit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/inspect/doctor"
	"tipstaff/internal/server/config"
)

// CheckEngine says what the settings of a fleet lack, for the roles that this
// machine has or seems to have.
func CheckEngine(e config.Engine) error {
	if !e.On() {
		return nil
	}
	roles := e.LikelyRoles()
	err := e.Check(roles)
	for _, role := range roles {
		if err == nil {
			err = natsx.CheckName(engineName(e, role))
		}
	}
	if err != nil {
		return exit.Errorf(exit.Config, cannotStart+"%w", err)
	}
	return nil
}

// engineName is this machine's name in a role.
func engineName(e config.Engine, role natsx.Role) string {
	host, _ := os.Hostname() // without one the name is empty, which is refused
	return e.NameIn(role, host)
}

// engineMembers are what doctor examines; nothing without an engine.
func engineMembers(e config.Engine) doctor.EngineOptions {
	if !e.On() {
		return doctor.EngineOptions{}
	}
	o := doctor.EngineOptions{Clear: e.InTheClear(), Check: CheckEngine(e), Pings: true}
	for _, role := range e.LikelyRoles() {
		o.Members = append(o.Members, doctor.EngineMember{Role: role, Options: e.Options(role, engineName(e, role))})
	}
	return o
}
