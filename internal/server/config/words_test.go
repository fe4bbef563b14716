package config

import (
	"os"
	"strings"
	"testing"
)

func TestAListSaysWhatItsItemsShouldBe(t *testing.T) {
	for setting, want := range map[string]string{
		"ALLOWED_COMMANDS=git,ls -la":                    `"ls -la" is no program: an item is the name or the path of one, without arguments, and a comma stands between two; write ls here`,
		"ALLOWED_COMMANDS=git ls":                        "a comma stands between two",
		"ALLOWED_COMMANDS=/bin/ls -la":                   "write /bin/ls here",
		"ALLOWED_COMMANDS=git\nls\n":                     "a comma stands between two",
		"ALLOWED_COMMANDS=git\u00a0-C":                   "write git here",
		`ALLOWED_COMMANDS="git,ls"`:                      "write git",
		"ALLOWED_COMMANDS=git, ls ,, /bin/true,*":        "",
		"ALLOWED_COMMANDS=ls\n":                          "",
		"TIPSTAFF_HTTP_ORIGINS=*":                        "every page of the web",
		"TIPSTAFF_HTTP_ORIGINS=https://a.example/":       "write https://a.example",
		"TIPSTAFF_HTTP_ORIGINS=https://a.example/x?y":    "write https://a.example",
		"TIPSTAFF_HTTP_ORIGINS=https://a.example:443":    "write https://a.example",
		"TIPSTAFF_HTTP_ORIGINS=https://u@a.example":      "write https://a.example",
		"TIPSTAFF_HTTP_ORIGINS=foo":                      `"foo" is no origin`,
		"TIPSTAFF_HTTP_ORIGINS=null":                     "is no origin",
		"TIPSTAFF_HTTP_ORIGINS=a.example":                "is no origin",
		"TIPSTAFF_HTTP_ORIGINS=https://*.example":        "is no origin",
		"TIPSTAFF_HTTP_ORIGINS=https://A.example":        "",
		"TIPSTAFF_HTTP_ORIGINS=http://a.example:8080":    "",
		"TIPSTAFF_HTTP_ORIGINS=http://[::1]:3000":        "",
		"TIPSTAFF_HTTP_ORIGINS=vscode-webview://0a1b2c":  "",
		"TIPSTAFF_HTTP_HOSTS=http://a.example":           "write a.example",
		"TIPSTAFF_HTTP_HOSTS=a.example/mcp":              "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=*":                          "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=*.example":                  "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=a.example b.example":        "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=a.example:":                 "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=a.example:99999":            "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=[::1":                       "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=[192.0.2.1]":                "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=a..example":                 "is no name of a server",
		"TIPSTAFF_HTTP_HOSTS=.":                          "is no name of a server",
		"TIPSTAFF_HTTP_ORIGINS=https://a.example:99999":  "is no origin",
		"TIPSTAFF_HTTP_HOSTS=a.example.,[2001:db8::1]":   "",
		"TIPSTAFF_HTTP_HOSTS=a.example,b.example:8443":   "",
		"TIPSTAFF_HTTP_HOSTS=192.0.2.1,[2001:db8::1]:80": "",
		"TIPSTAFF_HTTP_HOSTS=my_host,2001:db8::1":        "",
	} {
		_, err := FromEnvironment([]string{"HOME=/h", setting})
		name, _, _ := strings.Cut(setting, "=")
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestAPathWithBlanksIsAProgramIfItIsThere(t *testing.T) {
	path := t.TempDir() + "/my tool"
	if _, err := FromEnvironment([]string{"HOME=/h", "ALLOWED_COMMANDS=" + path}); err == nil {
		t.Error("it is not there")
	}
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := FromEnvironment([]string{"HOME=/h", "ALLOWED_COMMANDS=" + path}); err != nil {
		t.Error(err)
	}
}

func TestOnlyAMistypedSettingIsUnknown(t *testing.T) {
	for kv, unknown := range map[string]bool{
		"TIPSTAFF_DEFUALT_TIMEOUT=1": true, "TIPSTAFF_=1": true, "TIPSTAFF_PORT=7075": true, "TIPSTAFF_SERVICE_HOST=me": true,
		"TIPSTAFF_PORT=tcp://10.0.0.1:7075": false, "TIPSTAFF_GATEWAY_PORT_7075_TCP=tcp://10.0.0.1:7075": false,
		"TIPSTAFF_PORT_7075_TCP_ADDR=10.0.0.1": false, "TIPSTAFF_PORT_7075_TCP_PROTO=tcp": false, "TIPSTAFF_SERVICE_HOST=10.0.0.1": false,
		"TIPSTAFF_SERVICE_PORT=7075": false, "TIPSTAFF_SERVICE_PORT_HTTP=7075": false, "TIPSTAFF_SERVICE_HOST=fd00::1": false,
		"TERMINAL_TIMEOUT=60": true, "TERMINAL_OUTPUT_SIZE=1": true, "TERMINAL_PORT=7075": true, "TERMINAL_MAX_SESSIONS=5": false, "TERMINAL_SESSIONS=": false,
		"TERMINAL_EMULATOR=JetBrains-JediTerm": false, "TERMINAL_PORT=tcp://10.0.0.1:80": false, "TERMINAL_SERVICE_HOST=10.0.0.1": false,
		"TIPSTAFF_TEST_BINARY=/x": false, "TIPSTAFF_CI_SANDBOX=x": false, "TIPSTAFF_SOAK=1": false, "TIPSTAFF_SANDBOX=off": false,
	} {
		if got := Unknown([]string{kv}); (len(got) > 0) != unknown {
			t.Errorf("%s: %q", kv, got)
		}
	}
}

func TestAnAddressToListenAtHasAHost(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1:7075": true, "[::1]:7075": true, "[fe80::1%eth0]:7075": true, ":7075": true, "localhost:0": true, "my_host.example:80": true,
		" 127.0.0.1:7075": false, "a b:7075": false, "127.0.0.1/8:7075": false, "256.1.1.1:7075": false, "127.1:7075": false, "http://a:7075": false, "a..b:7075": false,
	} {
		if err := CheckHost(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}
