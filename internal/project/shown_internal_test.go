package project

import "testing"

// What runs code is seen by who is asked; what may be a key isn't.
func TestShownVariable(t *testing.T) {
	for name, shown := range map[string]bool{"NODE_OPTIONS": true, "BASH_ENV": true, "GIT_CONFIG_VALUE_0": true, "MY_SETTING": false, "API_KEY": false} {
		if got := shownVariable(name, "--require ./x"); (got == "--require ./x") != shown {
			t.Errorf("%s: %s", name, got)
		}
	}
}
