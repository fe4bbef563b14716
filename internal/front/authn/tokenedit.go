package authn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// YAML returns the row as it is written in a tokens file, indented.
func (r TokenRow) YAML(indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s- name: %q\n%s  sha256: %q\n%s  scopes: [%s]\n", indent, r.Name, indent, r.SHA256, indent, strings.Join(r.Scopes, ", "))
	if !r.Expires.IsZero() {
		fmt.Fprintf(&b, "%s  expires: %s\n", indent, r.Expires.UTC().Format(time.RFC3339))
	}
	return b.String()
}

// ErrForm says that a row cannot be appended to a file in its present form.
var ErrForm = errors.New("the file does not end in a list of tokens that a row could be added to: paste it by hand")

// AppendToken adds a row at the end of a tokens file, which is made if it does
// not exist. The present text stays unchanged, comments included. The new text
// is checked first: it has to mean the same as before plus the row. A running
// server sees either the old or the new file.
func AppendToken(path string, row TokenRow) error {
	before, err := readSecret(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(path, "tokens:\n"+row.YAML("  "))
	case err != nil:
		return err
	}
	rows, err := parseTokens(before)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	added, err := fitting(before, row, len(rows)+1)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(added)
	return errors.Join(err, f.Close())
}

// fitting finds the indentation with which a row belongs to the list at the
// end.
func fitting(before []byte, row TokenRow, want int) (string, error) {
	end := ""
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		end = "\n"
	}
	for _, indent := range []string{"  ", "", "    ", " "} {
		added := end + row.YAML(indent)
		rows, err := parseTokens(append(bytes.Clone(before), added...))
		if err != nil && strings.Contains(err.Error(), "already") {
			return "", err // a name that is already in use is not an error of form
		}
		if err == nil && len(rows) == want && rows[want-1].who.Name == "token:"+row.Name {
			return added, nil
		}
	}
	return "", ErrForm
}

func create(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
