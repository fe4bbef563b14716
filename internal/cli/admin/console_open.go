package admin

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"tipstaff/internal/proc"
)

// openers are the programs that open an address in the person's browser, by system.
func openers(system string) [][]string {
	switch system {
	case "darwin":
		return [][]string{{"open"}}
	case "windows":
		return [][]string{{"rundll32.exe", "url.dll,FileProtocolHandler"}}
	}
	return [][]string{{"xdg-open"}, {"wslview"}, {"gio", "open"}}
}

// openBrowser opens an address. It is the person who runs the console that starts
// the browser: no command is near. Other users of the host may see the address among
// the arguments of processes; the console refuses their connections.
func openBrowser(address string) error {
	for _, words := range openers(runtime.GOOS) {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			path := filepath.Join(dir, words[0])
			if info, err := os.Stat(path); err != nil || !filepath.IsAbs(path) || !info.Mode().IsRegular() {
				continue
			}
			return proc.HandOver(path, append(words[:len(words):len(words)], address), os.Environ())
		}
	}
	return errors.New("there is no program here that opens browsers")
}
