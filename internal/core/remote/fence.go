package remote

import (
	"fmt"
	"strconv"
	"strings"
)

// A Fence names one lease of one attempt. It is in every message about the lease and in the ref
// that the lease's worker may push. Only the result of an attempt's newest lease counts.
type Fence struct {
	Attempt string `json:"attempt"` // from AttemptName
	Lease   int    `json:"lease"`   // 1 for the attempt's first lease
}

const (
	maxAttempt = 160     // bytes of an attempt's name: with its suffixes it stays a file name
	maxLease   = 1 << 30 // no attempt has that many leases; the sum with 1 is still an int32
	maxWorker  = 63      // bytes of a worker's name, as of a DNS label
	refs       = "refs/gl/worker/"
)

// AttemptName returns the name under which an attempt is known to workers: its system, slice,
// number and claim's token, with '_' in place of what a path, a ref or a subject can't have. The
// token keeps names apart that are equal otherwise.
func AttemptName(system, slice string, n int, token string) string {
	const longest = 64
	parts := []string{cut(system, longest/2), cut(slice, longest), strconv.Itoa(n),
		cut(token, longest/2)}
	if system == "" {
		parts = parts[1:]
	}
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && nameByte(byte(r)) {
			return r
		}
		return '_'
	}, strings.Join(parts, "."))
	for strings.Contains(name, "..") {
		name = strings.ReplaceAll(name, "..", "._")
	}
	if !alphanumeric(name[0]) {
		name = "a" + name
	}
	if c := name[len(name)-1]; !alphanumeric(c) {
		name += "z"
	}
	return name
}

func cut(s string, n int) string { return s[:min(n, len(s))] }

// String returns "ATTEMPT.LEASE". A valid fence's is safe as the name of a file, a ref's component
// and an argument.
func (f Fence) String() string { return f.Attempt + "." + strconv.Itoa(f.Lease) }

// Ref returns the ref to which the lease's worker pushes its work.
func (f Fence) Ref() string { return refs + f.String() }

// Check returns an error unless the fence is safe to use in paths and refs.
func (f Fence) Check() error {
	switch {
	case f.Lease < 1 || f.Lease > maxLease:
		return fmt.Errorf("a lease is numbered from 1, not %d", f.Lease)
	case f.Attempt == "" || len(f.Attempt) > maxAttempt:
		return fmt.Errorf("an attempt's name has 1 to %d characters, not %d", maxAttempt, len(f.Attempt))
	case !alphanumeric(f.Attempt[0]) || !alphanumeric(f.Attempt[len(f.Attempt)-1]):
		return fmt.Errorf("an attempt's name begins and ends with a letter or a digit: %q", f.Attempt)
	case strings.Contains(f.Attempt, ".."):
		return fmt.Errorf("an attempt's name has no '..': %q", f.Attempt)
	}
	for i := range len(f.Attempt) {
		if !nameByte(f.Attempt[i]) {
			return fmt.Errorf("an attempt's name has letters, digits, '.', '_' and '-' only: %q", f.Attempt)
		}
	}
	return nil
}

// CheckWorker returns an error unless name may be a worker's: a DNS label in lower case, which is
// safe as a file name, an argument and a token of a NATS subject.
func CheckWorker(name string) error {
	ok := name != "" && len(name) <= maxWorker && name[0] != '-' && name[len(name)-1] != '-'
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
	}
	if !ok {
		return fmt.Errorf("a worker's name has up to %d small letters, digits and '-' inside, not %.80q",
			maxWorker, name)
	}
	return nil
}

// CheckLabel returns an error for what can't be a worker's label.
func CheckLabel(label string) error { return plain("the label", label) }

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func nameByte(c byte) bool { return alphanumeric(c) || c == '.' || c == '_' || c == '-' }
