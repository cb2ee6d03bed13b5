// Package environ looks up variables in an environment that was passed in, so that a test can
// run a command line without changing the process's own environment.
package environ

import "strings"

// Environ is an environment as os.Environ returns it: KEY=VALUE strings.
type Environ []string

// Get returns the value of a variable, "" when it is unset.
func (e Environ) Get(key string) string {
	value, _ := e.Lookup(key)
	return value
}

// Lookup returns the value of a variable and whether it is set. If a variable is listed twice,
// the last one counts.
func (e Environ) Lookup(key string) (value string, set bool) {
	for _, kv := range e {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value, set = v, true
		}
	}
	return value, set
}
