package testfiles

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"runtime"
)

// Processes returns the processes of this machine that have the word in their command line or
// environment, as ps shows them, each with its pid first.
func Processes(word string) (found []string, err error) {
	all := []string{"axeww", "-o", "pid,command"}
	if runtime.GOOS == "darwin" {
		all = []string{"-axEww", "-o", "pid,command"}
	}
	cmd := exec.Command("ps", all...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	whole := regexp.MustCompile(regexp.QuoteMeta(word) + `\b`)
	for line := range bytes.Lines(out) {
		if whole.Match(line) {
			found = append(found, string(line[:min(len(line), 300)]))
		}
	}
	return found, err
}
