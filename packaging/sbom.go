package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
)

// The part of SPDX 2.3 that is written.
type spdx struct {
	Version   string        `json:"spdxVersion"`
	License   string        `json:"dataLicense"`
	ID        string        `json:"SPDXID"`
	Name      string        `json:"name"`
	Namespace string        `json:"documentNamespace"`
	Created   spdxCreated   `json:"creationInfo"`
	Describes []string      `json:"documentDescribes"`
	Packages  []spdxPackage `json:"packages"`
	Relations []spdxRelated `json:"relationships"`
}

type spdxCreated struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID        string         `json:"SPDXID"`
	Name      string         `json:"name"`
	Version   string         `json:"versionInfo"`
	Location  string         `json:"downloadLocation"`
	Analyzed  bool           `json:"filesAnalyzed"`
	Concluded string         `json:"licenseConcluded"`
	Declared  string         `json:"licenseDeclared"`
	Copyright string         `json:"copyrightText"`
	Sums      []spdxChecksum `json:"checksums,omitempty"`
	Refs      []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelated struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const unknown = "NOASSERTION"

var notID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// parts writes the parts of a binary, as the binary itself says: the modules that
// are linked into it, and the Go that built it.
func parts(s *stage, p platform, out, name string) error {
	data, err := os.ReadFile(s.binary(p))
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(s.binary(p))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	main := spdxPackage{
		ID: "SPDXRef-tipstaff", Name: "tipstaff", Version: s.Version, Location: unknown, Concluded: license, Declared: license, Copyright: unknown,
		Sums: []spdxChecksum{{"SHA256", hex.EncodeToString(sum[:])}},
		Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + info.Main.Path + "@" + s.Version + "?goos=" + p.OS + "&goarch=" + p.Arch}},
	}
	doc := spdx{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://tipstaff.invalid/spdx/" + name + "-" + s.Commit,
		Created:   spdxCreated{s.Date.Format("2006-01-02T15:04:05Z"), []string{"Tool: tipstaff-packaging"}},
		Describes: []string{main.ID}, Packages: []spdxPackage{main},
		Relations: []spdxRelated{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}},
	}
	add := func(path, version, purl string) {
		id := "SPDXRef-" + notID.ReplaceAllString(path+"-"+version, "-")
		doc.Packages = append(doc.Packages, spdxPackage{
			ID: id, Name: path, Version: version, Location: unknown, Concluded: unknown, Declared: unknown, Copyright: unknown,
			Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", purl}},
		})
		doc.Relations = append(doc.Relations, spdxRelated{main.ID, "CONTAINS", id})
	}
	add("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/stdlib@"+strings.TrimPrefix(info.GoVersion, "go"))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(m.Path, m.Version, "pkg:golang/"+strings.ToLower(m.Path)+"@"+m.Version)
	}
	return create(out, name+".spdx.json", func(w io.Writer) error { return writeJSON(w, doc) })
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
