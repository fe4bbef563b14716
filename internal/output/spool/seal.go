package spool

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
)

// newKey returns a cipher with a key that only this process has.
func newKey() cipher.Block {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only for a key of another length
	}
	return block
}

// seal encrypts or decrypts what stands at offset at of the file with this serial
// number, from src to dst, which may be the same. The counter is the serial
// number and the number of the block in the file, so no two bytes of a store are
// encrypted with the same one: files are only ever appended to.
func seal(block cipher.Block, serial uint64, at int64, dst, src []byte) {
	var counter [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[:8], serial)
	binary.BigEndian.PutUint64(counter[8:], uint64(at/aes.BlockSize))
	stream := cipher.NewCTR(block, counter[:])
	if skip := at % aes.BlockSize; skip > 0 {
		var none [aes.BlockSize]byte
		stream.XORKeyStream(none[:skip], none[:skip])
	}
	stream.XORKeyStream(dst, src)
}
