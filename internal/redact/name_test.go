package redact

import (
	"testing"
)

func TestNamesThatPromiseASecret(t *testing.T) {
	for name, rule := range map[string]string{
		"secret":                              "secret",
		"CLIENT_SECRETS":                      "secret",
		"client-secret":                       "secret",
		"db.password":                         "password",
		"DB_PWD":                              "pwd",
		"pwd":                                 "pwd",
		"API_TOKEN2":                          "token",
		"S3ApiKey":                            "key",
		"STRIPE_APIKEY":                       "apikey",
		"NGROK_AUTHTOKEN":                     "token",
		"MYSQLPASSWORD":                       "password",
		"userPassWord":                        "password",
		"DOCKER_PASS":                         "pass",
		"DOCKER_PASS_2":                       "pass",
		"OVSX_PAT":                            "pat",
		"MY_OAUTH":                            "oauth",
		"OAuth":                               "auth",
		"AWS_ACCESS_KEY_ID":                   "key",
		"SSH_KEY":                             "key",
		"KEY_1":                               "key",
		"SIGNING_KEY_BASE64":                  "key",
		"signingKeyB64":                       "key",
		"API_KEY_PROD":                        "key",
		"CERT_P12":                            "p12",
		"CERT_P12_BASE64":                     "p12",
		"DATABASE_URL":                        "connection-string",
		"MY_PG_URI":                           "connection-string",
		"DB1_URL":                             "connection-string",
		"databaseUrl":                         "connection-string",
		"AZURE_CONNECTION_STRING":             "connection-string",
		"ConnectionString":                    "connection-string",
		"CELERY_BROKER_URL":                   "connection-string",
		"SLACK_WEBHOOK":                       "webhook",
		"SLACK_WEBHOOK_URL":                   "webhook",
		"DOCKER_AUTH_CONFIG":                  "auth",
		"COMPOSER_AUTH":                       "auth",
		"//registry.example.test/:_authToken": "token",
		"//registry.example.test/:_auth":      "auth",
		"ACCESSKEY":                           "accesskey",
	} {
		if got, ok := SecretName(name); !ok || got != rule {
			t.Errorf("SecretName(%q) = %q, %v; want %q", name, got, ok, rule)
		}
	}
}

func TestNamesThatOnlyLookLikeASecret(t *testing.T) {
	for _, name := range []string{
		"", "_", "PWD", "OLDPWD", "PATH", "AUTHOR", "GIT_AUTHOR_NAME", "KEYBOARD_LAYOUT",
		"KEYMAP", "MONKEY", "TURKEY", "MAX_TOKENS", "maxTokens", "maxToken", "MAX_NEWTOKENS", "TOKEN_LIMIT",
		"TOKENIZERS_PARALLELISM", "AUTH_URL", "AUTH_MODE", "ENABLE_AUTH", "CACHE_KEY",
		"PUBLIC_KEY", "PUBLIC_KEY_BASE64", "PRIMARY_KEY", "COMPASS", "COMPASS_MODE", "BYPASS", "PASSENGER",
		"PATTERN", "PINNED", "SASS_PATH", "SECRETARY_NAME", "SPINNER", "LICENSE_HEADER",
		"CI_PIPELINE_URL", "API_URL", "SSH_AUTH_SOCK", "KEY_PREFIX", "HOTKEYS_ENABLED",
		"WEBHOOK_PORT", "PASSTHROUGH", "DBUS_SESSION_BUS_ADDRESS",
	} {
		if rule, ok := SecretName(name); ok {
			t.Errorf("SecretName(%q) = %q, true; want none", name, rule)
		}
	}
}
