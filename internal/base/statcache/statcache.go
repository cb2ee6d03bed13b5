package statcache

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"unsafe"

	"greenlight/internal/base/durable"
)

// variable turns the cache off, or on for any amount of data, to find out whether it causes a
// problem.
const variable = "GL_INDEX"

// Worth returns how much must have been read for it to be cached: n, unless the person always
// wants the cache.
func Worth(n int) int {
	if os.Getenv(variable) == "always" {
		return 1
	}
	return n
}

// Program identifies the build of gl, because builds may read files differently. It is "" if
// unknown, which disables the cache.
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

// magic begins a cache file, in a project's runs/:
//
//	"gl index 1\n"   magic
//	uint32           CRC-32 (Castagnoli) of what follows, little-endian
//	text             the program that wrote it
//	...              the cached data, coded by a Coder
const magic = "gl index 1\n"

const sumBytes = 4

// castagnoli is built on demand, because that takes a good part of gl's startup time.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Read returns the data that the program has cached in the file; "" if there is none, or it
// can't be used.
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
	// avoid copying megabytes that are neither shared nor modified
	c := Reading(unsafe.String(&data[head], len(data)-head))
	var of string
	c.Text(&of)
	if of != program {
		return ""
	}
	return c.Rest()
}

// Write caches coded data, in a file that is replaced without fsync and without a lock. Write
// errors are ignored.
func Write(path, program string, kept []byte) {
	var body Coder
	body.Text(&program)
	body.out = append(body.out, kept...)
	data := binary.LittleEndian.AppendUint32([]byte(magic), crc32.Checksum(body.out, castagnoli()))
	_ = durable.WriteCache(path, append(data, body.out...), 0o600)
}
