package statcache

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"unsafe"

	"greenlight/internal/durable"
)

// variable turns it off, or has everything kept however little was read: for finding out whether it is to blame.
const variable = "GL_INDEX"

// Worth is how much must have been read for it to be kept: n, unless the person wants it always.
func Worth(n int) int {
	if os.Getenv(variable) == "always" {
		return 1
	}
	return n
}

// Program tells one build of gl from another, which may read files differently. "": unknown, and then nothing is kept or used.
var Program = sync.OnceValue(func() string {
	if os.Getenv(variable) == "off" {
		return ""
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	s, err := Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(s)
})

// A kept file, in a project's runs/:
//
//	"gl index 1\n"   magic
//	uint32           CRC-32 (Castagnoli) of what follows, little-endian
//	text             the program that wrote it
//	...              what it has kept, coded by a Coder
const magic = "gl index 1\n"

const sumBytes = 4

// castagnoli is made when it is needed: it takes as long as a good part of the start of a gl that needs none.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Read returns what the program has kept in the file; "" where that is nothing, or can't be used.
func Read(path, program string) string {
	if program == "" {
		return ""
	}
	data, err := durable.ReadFile(path)
	head := len(magic) + sumBytes
	if err != nil || len(data) <= head || string(data[:len(magic)]) != magic ||
		crc32.Checksum(data[head:], castagnoli()) != binary.LittleEndian.Uint32(data[len(magic):]) {
		return ""
	}
	c := Reading(unsafe.String(&data[head], len(data)-head)) // megabytes, which nobody else has and nobody changes
	var of string
	c.Text(&of)
	if of != program {
		return ""
	}
	return c.Rest()
}

// Write keeps what was coded, in a file that is replaced without fsync and without a lock. That it can't be written is nobody's trouble.
func Write(path, program string, kept []byte) {
	var body Coder
	body.Text(&program)
	body.out = append(body.out, kept...)
	data := binary.LittleEndian.AppendUint32([]byte(magic), crc32.Checksum(body.out, castagnoli()))
	_ = durable.WriteCache(path, append(data, body.out...), 0o600)
}
