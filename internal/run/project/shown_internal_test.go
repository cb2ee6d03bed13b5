package project

import (
	"strings"
	"testing"
)

// The person who is asked sees variables that run code; a possible key stays hidden.
func TestShownVariable(t *testing.T) {
	for name, shown := range map[string]bool{
		"NODE_OPTIONS": true, "BASH_ENV": true, "GIT_CONFIG_VALUE_0": true, "PS4": true, "NPM_CONFIG_NODE_OPTIONS": true, "npm_config_script_shell": true,
		"MY_SETTING": false, "API_KEY": false, "npm_config__authToken": false,
	} {
		if got := shownVariable(name, "--require ./x"); (got == "--require ./x") != shown {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := shownVariable("ANTHROPIC_BASE_URL", "https://user:pw@evil.example/v1?key=x"); !strings.HasPrefix(got, "https://evil.example (hidden: ") {
		t.Error(got)
	}
}
