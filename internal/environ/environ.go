// Package environ looks variables up in an environment that was passed in, so that a command line can run in a test
// without touching the process's own.
package environ

import "strings"

// Environ is an environment as os.Environ returns it: KEY=VALUE strings.
type Environ []string

// Get returns the value of a variable, "" when it is unset.
func (e Environ) Get(key string) string {
	value, _ := e.Lookup(key)
	return value
}

// Lookup returns the value of a variable and whether it is set. When a variable is listed twice the last one counts.
func (e Environ) Lookup(key string) (value string, set bool) {
	for _, kv := range e {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value, set = v, true
		}
	}
	return value, set
}
