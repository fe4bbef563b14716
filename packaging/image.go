package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// descriptor is what one document of an image says of another.
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
	Notes     map[string]string `json:"annotations,omitempty"`
}

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// layout is an OCI image layout while it is written.
type layout struct{ blobs []entry }

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func (l *layout) add(mediaType string, data []byte) descriptor {
	digest := digestOf(data)
	l.blobs = append(l.blobs, entry{"blobs/sha256/" + digest[len("sha256:"):], 0o644, data})
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(data)}
}

func (l *layout) addJSON(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.add(mediaType, data), err
}

// image writes an image of one binary for each processor of Linux, as an OCI
// layout, which skopeo, podman and docker load. It has no other program: people
// copy the binary out of it into an image that has those of their agents.
func image(s *stage, out string) error {
	var l layout
	var manifests []descriptor
	for _, p := range s.Platforms {
		if p.OS != "linux" {
			continue
		}
		d, err := l.platform(s, p)
		if err != nil {
			return err
		}
		manifests = append(manifests, d)
	}
	if len(manifests) == 0 {
		return nil
	}
	index, err := l.addJSON(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests})
	if err != nil {
		return err
	}
	index.Notes = map[string]string{"org.opencontainers.image.ref.name": s.Version}
	top, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{index}})
	if err != nil {
		return err
	}
	l.blobs = append(l.blobs, entry{"index.json", 0o644, top}, entry{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	return create(out, "tipstaff_"+s.Version+"_oci.tar", func(w io.Writer) error { return tarball(w, l.blobs, s.Date) })
}

// platform adds the image of one processor.
func (l *layout) platform(s *stage, p platform) (d descriptor, err error) {
	bin, err := entryOf("usr/bin/tipstaff", s.binary(p), 0o755)
	if err != nil {
		return d, err
	}
	dir := func(name string, mode fs.FileMode) entry { return entry{Name: name, Mode: fs.ModeDir | mode} }
	var layer, plain bytes.Buffer
	if err := tarball(&plain, []entry{dir("usr/", 0o755), dir("usr/bin/", 0o755), bin, dir("tmp/", fs.ModeSticky|0o777), dir("workspace/", 0o755)}, s.Date); err != nil {
		return d, err
	}
	z, err := gzip.NewWriterLevel(&layer, gzip.BestCompression)
	if err != nil {
		return d, err
	}
	if _, err := z.Write(plain.Bytes()); err != nil {
		return d, err
	}
	if err := z.Close(); err != nil {
		return d, err
	}
	created := s.Date.Format(time.RFC3339)
	config, err := l.addJSON(typeConfig, map[string]any{
		"created": created, "architecture": p.Arch, "os": p.OS,
		"config": map[string]any{
			"Entrypoint": []string{"/usr/bin/tipstaff"}, "Cmd": []string{"serve"}, "WorkingDir": "/workspace",
			"Env": []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TIPSTAFF_STATE_DIR=/var/lib/tipstaff"},
			"Labels": map[string]string{
				"org.opencontainers.image.title": "tipstaff", "org.opencontainers.image.description": summary, "org.opencontainers.image.version": s.Version,
				"org.opencontainers.image.revision": s.Commit, "org.opencontainers.image.created": created, "org.opencontainers.image.licenses": license,
				"io.modelcontextprotocol.server.name": serverName,
			},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digestOf(plain.Bytes())}},
		"history": []map[string]string{{"created": created, "created_by": "tipstaff-packaging"}},
	})
	if err != nil {
		return d, err
	}
	d, err = l.addJSON(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": []descriptor{l.add(typeLayer, layer.Bytes())},
	})
	d.Platform = map[string]string{"os": p.OS, "architecture": p.Arch}
	return d, err
}
