//go:build ignore

// Module gives the module another path, everywhere: in go.mod, in the imports and in the strings
// that name packages. These are the only places that have it (a test holds that). It changes the
// files below the working directory and runs nothing of them.
//
//	go run tools/module.go github.com/OWNER/greenlight
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// packages are what follows the module's path where a package, or all of them, is named.
const packages = `(?:cmd|content|docs|internal)\b`

func main() {
	log.SetFlags(0)
	log.SetPrefix("module: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: go run tools/module.go PATH")
	}
	if err := rename(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

var valid = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)

func rename(to string) error {
	if !valid.MatchString(to) {
		return fmt.Errorf("%q isn't a module path like github.com/OWNER/greenlight", to)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(mod)
	if m == nil {
		return fmt.Errorf("go.mod names no module")
	}
	from := string(m[1])
	if from == to {
		return nil
	}
	// A path that only ends in the module's name, such as .greenlight/docs, is another one.
	names := regexp.MustCompile(`(^|[^A-Za-z0-9_./~-])` + regexp.QuoteMeta(from) + `(/` + packages + `)`)
	count := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".":
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed := names.ReplaceAll(text, []byte("${1}"+to+"${2}"))
		if bytes.Equal(changed, text) {
			return nil
		}
		if changed, err = format.Source(changed); err != nil { // the imports' order
			return fmt.Errorf("%s: %w", path, err)
		}
		count++
		return os.WriteFile(path, changed, 0o644)
	})
	if err != nil {
		return err
	}
	if out, err := exec.Command("go", "mod", "edit", "-module", to).CombinedOutput(); err != nil {
		return fmt.Errorf("go mod edit: %s", out)
	}
	fmt.Printf("%s is now %s: go.mod and %d files\n", from, to, count)
	return nil
}
