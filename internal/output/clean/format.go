package clean

import "strings"

// formats are the first bytes of files that are not text, by the registries of
// file(1) and of the formats themselves. The first that fits counts.
var formats = []struct {
	at    int
	magic string
	name  string
}{
	{0, "\x89PNG\r\n\x1a\n", "PNG"},
	{0, "\xff\xd8\xff", "JPEG"},
	{0, "GIF8", "GIF"},
	{8, "WEBP", "WebP"},
	{8, "WAVE", "WAV"},
	{8, "AVI ", "AVI"},
	{0, "II*\x00", "TIFF"},
	{0, "MM\x00*", "TIFF"},
	{0, "\x00\x00\x01\x00", "ICO"},
	{0, "%PDF-", "PDF"},
	{0, "PK\x03\x04", "ZIP"},
	{0, "PK\x05\x06", "ZIP"},
	{0, "\x1f\x8b", "gzip"},
	{0, "BZh", "bzip2"},
	{0, "\xfd7zXZ\x00", "xz"},
	{0, "\x28\xb5\x2f\xfd", "zstd"},
	{0, "\x04\x22\x4d\x18", "lz4"},
	{0, "7z\xbc\xaf\x27\x1c", "7-Zip"},
	{257, "ustar", "tar"},
	{0, "\x7fELF", "ELF"},
	{0, "MZ", "PE"},
	{0, "\xcf\xfa\xed\xfe", "Mach-O"},
	{0, "\xca\xfe\xba\xbe", "Java class or Mach-O"},
	{0, "\x00asm", "WebAssembly"},
	{0, "!<arch>\n", "ar"},
	{0, "SQLite format 3\x00", "SQLite"},
	{0, "PACK\x00\x00\x00", "git pack"},
	{0, "\xfftOc", "git pack index"},
	{4, "ftyp", "MP4"},
	{0, "\x1aE\xdf\xa3", "Matroska"},
	{0, "ID3", "MP3"},
	{0, "OggS", "Ogg"},
	{0, "fLaC", "FLAC"},
	{0, "wOFF", "WOFF"},
	{0, "wOF2", "WOFF2"},
	{0, "\xff\xfe", "UTF-16 text"},
	{0, "\xfe\xff", "UTF-16 text"},
}

// formatOf names the format that the first bytes of output belong to; "" if it
// is not known.
func formatOf(head []byte) string {
	begin := string(head[:min(len(head), 512)])
	for _, f := range formats {
		if len(begin) > f.at && strings.HasPrefix(begin[f.at:], f.magic) {
			return f.name
		}
	}
	return ""
}
