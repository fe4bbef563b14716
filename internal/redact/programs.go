package redact

import "strings"

// family names the programs that pass secrets in the same way, by the base
// name of one of them; "" for programs without ways of their own.
func family(program string) string {
	switch program {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mysqlcheck",
		"mysqlsh", "mysqlpump", "mysqlslap", "mysqlbinlog", "mycli", "mariadb",
		"mariadb-dump", "mariadb-admin", "mariadb-check", "mariadb-import":
		return "mysql"
	case "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport",
		"sshpass", "cypher-shell", "cqlsh", "couchbase-cli", "twine", "ncftp":
		return "sshpass"
	case "7z", "7za", "7zr", "7zz", "rar", "unrar":
		return "7z"
	case "zip", "unzip", "zipcloak", "sqlcmd", "bcp", "isql", "osql", "tsql",
		"ipmitool", "mosquitto_pub", "mosquitto_sub":
		return "zip"
	case "ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd", "ldapcompare":
		return "ldapsearch"
	case "smbclient", "rpcclient", "smbget", "winexe":
		return "smbclient"
	case "snmpget", "snmpset", "snmpwalk", "snmpbulkwalk", "snmptrap":
		return "snmpget"
	case "docker", "docker-compose", "podman", "nerdctl", "buildah", "skopeo", "oras", "crane", "regctl",
		"helm", "az", "oc", "cf", "kubectl":
		return "docker"
	case "http", "https", "xh", "xhs":
		return "http"
	case "plink", "pscp", "psftp":
		return "plink"
	case "sqlplus", "expdp", "impdp", "rman", "sqlldr":
		return "sqlplus"
	case "useradd", "usermod":
		return "useradd"
	case "git", "rsync", "ssh", "scp", "sftp", "chown", "cp", "sort", "diff", "su", "sudo",
		"redis-cli", "curl", "ssh-keygen", "openssl", "htpasswd", "wpa_passphrase", "nmcli",
		"vault", "ngrok", "lftp", "gh", "rabbitmqctl", "cargo":
		return program
	}
	return ""
}

// programName is the base name of what a word would run.
func programName(word string) string {
	word = unquoted(word)
	if i := strings.LastIndexAny(word, `/\|;&(`+"`"); i >= 0 {
		word = word[i+1:]
	}
	return strings.TrimSuffix(word, ".exe")
}

// programOption says what a family's option of its own takes. seen are the
// telling words that came before it (login).
func programOption(family, option string, seen marks) demand {
	switch family {
	case "mysql", "sshpass", "useradd":
		return when(option == "p", demand{"pass", whole})
	case "zip":
		return when(option == "P", demand{"pass", whole})
	case "ldapsearch":
		return when(option == "w", demand{"pass", whole})
	case "redis-cli":
		return when(option == "a", demand{"pass", whole})
	case "plink":
		return when(option == "pw", demand{"pass", whole})
	case "ssh-keygen":
		return when(option == "N" || option == "P", demand{"passphrase", whole})
	case "smbclient":
		return when(option == "U", demand{"pass", behindPercent})
	case "lftp":
		return when(option == "u", demand{"pass", behindComma})
	case "snmpget":
		return when(option == "c" || option == "A" || option == "X", demand{"pass", whole})
	case "gh":
		return when(seen.secret && (option == "b" || option == "body"), demand{"secret", whole})
	case "openssl":
		return opensslOption(option)
	case "curl":
		return curlOption(option)
	case "http":
		return when(option == "a" || option == "auth", demand{"password", userPassword})
	case "docker":
		return dockerOption(option, seen)
	}
	return demand{}
}

func opensslOption(option string) demand {
	switch option {
	case "passin", "passout", "pass":
		return demand{"pass", opensslSource}
	case "k", "K":
		return demand{"key", whole}
	}
	return demand{}
}

func curlOption(option string) demand {
	switch option {
	case "U", "proxy-user":
		return demand{"password", userPassword}
	case "E", "cert", "proxy-cert":
		return demand{"pass", behindColon}
	case "b", "cookie":
		return demand{"cookie", cookies}
	}
	if len(option) > 1 && len(option) <= 4 && strings.HasSuffix(option, "u") && letters(option) {
		return demand{"password", userPassword} // -sSu
	}
	return demand{}
}

func dockerOption(option string, seen marks) demand {
	switch {
	case option == "p" && seen.login:
		return demand{"pass", whole}
	case option == "from-literal" && seen.secret:
		return demand{"secret", behindEquals}
	}
	return demand{}
}

// gluedOption says what stands behind the letter of a short option in the
// same word (mysql -phunter2).
func gluedOption(family string, letter byte, seen marks) demand {
	switch string(letter) + " " + family {
	case "p mysql", "p sshpass", "p 7z", "P zip", "w ldapsearch":
		return demand{"pass", whole}
	case "p docker":
		return when(seen.login, demand{"pass", whole})
	case "u curl":
		return demand{"password", userPassword}
	case "U smbclient":
		return demand{"pass", behindPercent}
	}
	return demand{}
}

// userOption reports whether -u is a user in this family, and not an
// ordinary switch or a user without a password.
func userOption(family string) bool {
	switch family {
	case "git", "rsync", "docker", "chown", "cp", "sort", "diff", "su", "sudo":
		return false
	}
	return true
}

// programWord says what a word that is no option asks of the next one. It is
// the nth of them behind the program's name.
func programWord(family, word string, nth int, seen marks) demand {
	switch family {
	case "nmcli":
		return when(word == "password" || strings.HasSuffix(word, "psk"), demand{"password", whole})
	case "mysql":
		return when(word == "password", demand{"password", whole})
	case "vault", "cargo":
		return when(word == "login", demand{"token", whole})
	case "ngrok":
		return when(word == "authtoken" || word == "add-authtoken", demand{"token", whole})
	case "wpa_passphrase":
		return when(nth == 1, demand{"passphrase", whole})
	case "rabbitmqctl":
		return when(nth == 2 && seen.user, demand{"password", whole})
	case "redis-cli":
		return when(strings.EqualFold(word, "requirepass"), demand{"pass", whole})
	}
	return demand{}
}
