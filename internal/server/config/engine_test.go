package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/fleet/natsx"
)

func TestTheEnginesSettings(t *testing.T) {
	s, err := FromEnvironment([]string{
		"HOME=/h", "TERMINAL_MAX_SESSIONS=7", "TIPSTAFF_ENGINE=tls://a:4222, tls://b:4222", "TIPSTAFF_ENGINE_ROLES=gateway,runner",
		"TIPSTAFF_RUNNER_LABELS=pool=gpu", "TIPSTAFF_ENGINE_PATIENCE=700", "TIPSTAFF_RUNNER_NAME=r1",
	})
	if err != nil {
		t.Fatal(err)
	}
	e := s.Engine
	if !e.On() || len(e.Servers) != 2 || len(e.Roles) != 2 || e.RunnerCapacity != 7 || e.RunnerLabels["pool"] != "gpu" || e.RunnerName != "r1" ||
		e.GatewayName != "gateway" || e.Patience != 700*time.Millisecond || e.Wait != 2*time.Second || e.RunnerDrain != 30*time.Second {
		t.Errorf("got %+v", e)
	}
	if s, err = FromEnvironment([]string{"HOME=/h"}); err != nil || s.Engine.On() {
		t.Errorf("without settings: %+v, %v", s.Engine, err)
	}
	for setting, want := range map[string]string{
		"TIPSTAFF_ENGINE=http://a":              "nats://HOST:PORT or tls://HOST:PORT",
		"TIPSTAFF_ENGINE=nats://u:geheim@a:1":   "TIPSTAFF_ENGINE_CREDENTIALS",
		"TIPSTAFF_ENGINE_ROLES=boss":            "must be gateway, runner, or both",
		"TIPSTAFF_ENGINE_ROLES=runner,runner":   "must be gateway, runner, or both",
		"TIPSTAFF_ENGINE_SEAL=seal":             "absolute path",
		"TIPSTAFF_ENGINE_PATIENCE=0":            "positive whole number",
		"TIPSTAFF_ENGINE_PATIENCE=3600000":      "at most 60000",
		"TIPSTAFF_RUNNER_NAME=a.b":              "1 to 63 characters",
		"TIPSTAFF_RUNNER_LABELS=gpu":            "is no label",
		"TIPSTAFF_RUNNER_CAPACITY=-1":           "positive whole number",
		"TIPSTAFF_ENGINE_TENANT_SESSIONS=three": "whole number from 0",
	} {
		if _, err := FromEnvironment([]string{"HOME=/h", setting}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestWhatAFleetNeedsIsNamed(t *testing.T) {
	both := []natsx.Role{natsx.Gateway, natsx.Runner}
	err := Engine{}.Check(both)
	for _, want := range []string{"TIPSTAFF_ENGINE_SEAL is not set", "TIPSTAFF_ENGINE_KEY is not set", "TIPSTAFF_ENGINE_GATEWAYS is not set"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	seed, public, err := natsx.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	good := Engine{
		SealFile: write("seal", strings.Repeat("s", 32)), SigningKey: write("key", seed), Credentials: write("credentials", seed),
		GatewaysFile: write("gateways", public+" gateway\n"),
	}
	if err := good.Check(both); err != nil {
		t.Errorf("all is there: %v", err)
	}
	for name, change := range map[string]func(e *Engine){
		"a seal of 31 bytes":         func(e *Engine) { e.SealFile = write("short", strings.Repeat("s", 31)) },
		"a key that is none":         func(e *Engine) { e.SigningKey = write("bad", "x") },
		"credentials that are none":  func(e *Engine) { e.Credentials = write("worse", "x") },
		"no gateway in the file":     func(e *Engine) { e.GatewaysFile = write("empty", "") },
		"a certificate without key":  func(e *Engine) { e.Cert = "/cert" },
		"a certificate that is none": func(e *Engine) { e.Cert, e.Key = e.SealFile, e.SealFile },
		"authorities of a dream":     func(e *Engine) { e.CA = dir + "/none" },
		"authorities that are none":  func(e *Engine) { e.CA = e.SealFile },
		"a gateways file of a dream": func(e *Engine) { e.GatewaysFile = dir + "/none" },
	} {
		e := good
		if change(&e); e.Check(both) == nil {
			t.Errorf("%s: nothing is said", name)
		}
	}
	operator := Engine{Servers: []string{"nats://x:1"}, Roles: []natsx.Role{natsx.Operator}, SigningKey: good.SigningKey, OperatorsFile: good.GatewaysFile}
	if err := operator.Check(operator.LikelyRoles()); err != nil || !operator.IsOperator() || operator.Copies() {
		t.Errorf("an operator needs no seal, and copies no trail: %v", err)
	}
	operator.SigningKey = ""
	if err := operator.Check(operator.LikelyRoles()); err == nil || !strings.Contains(err.Error(), "TIPSTAFF_ENGINE_KEY") {
		t.Errorf("an operator without a key: %v", err)
	}
	operator = good
	if operator.OperatorsFile = write("nobody", ""); operator.Check(both) == nil {
		t.Error("a file of operators that names none")
	}
	clear := Engine{Servers: []string{"nats://127.0.0.1:1", "nats://far:4222", "tls://far:4222"}}.InTheClear()
	if !slices.Equal(clear, []string{"nats://far:4222"}) {
		t.Errorf("in the clear: %v", clear)
	}
}
