package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// publish writes a version as https://go.dev/ref/mod#goproxy-protocol describes it.
func publish(path, version, proxy, dir string) error {
	escaped, err := module.EscapePath(path)
	if err != nil {
		return err
	}
	if err := module.Check(path, version); err != nil {
		return err
	}
	versions := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o700); err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"list": []byte(version + "\n"), version + ".mod": goMod, version + ".info": info} {
		if err := os.WriteFile(filepath.Join(versions, name), data, 0o600); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(versions, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(f, module.Version{Path: path, Version: version}, dir), f.Close())
}
