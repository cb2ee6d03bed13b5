package statcache

import (
	"fmt"
	"os"
	"sync"
)

// Program identifies the build of gl, because builds may read files differently. It is "" if
// unknown.
var Program = sync.OnceValue(func() string {
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
