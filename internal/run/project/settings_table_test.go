package project

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"greenlight/internal/base/trust"
)

// Every setting has a line of text that fits a screen of 80 columns, and an example that it
// accepts. Those that a person must allow are those that trust is about.
func TestSettingsAreExplained(t *testing.T) {
	const columns = 74 // behind the indent
	guarded := map[string]bool{}
	seen := map[string]bool{}
	for _, k := range knownSettings() {
		if seen[k.key] {
			t.Errorf("%s is in the table twice", k.key)
		}
		seen[k.key] = true
		line := k.about.Line
		first, _ := utf8.DecodeRuneInString(line)
		if line == "" || len(line) > columns || strings.HasSuffix(line, ".") || unicode.IsUpper(first) {
			t.Errorf("%s: needs a line of at most %d columns, without a full stop: %q", k.key, columns, line)
		}
		for _, value := range append(slices.Clone(k.about.Values), k.about.Example) {
			s := settingsOf(t, "")
			if value == "" {
				continue
			}
			if err := s.Set(k.key, value); err != nil {
				t.Errorf("%s: %v", k.key, err)
			}
			if commands, _ := s.Commands(); slices.ContainsFunc(commands, func(c trust.Command) bool {
				return strings.HasPrefix(c.Key, k.key)
			}) {
				guarded[k.key] = true
			}
		}
	}
	guarded["sandbox"] = true // a choice of its own: see SandboxChoice
	for _, k := range knownSettings() {
		if k.about.Guarded != guarded[k.key] {
			t.Errorf("%s: Guarded is %v, but trust says %v", k.key, k.about.Guarded, guarded[k.key])
		}
	}
}
