package gsd

import (
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/state/gsd"
)

// verbArgs are the arguments of a GSD verb, by GSD's own rules, which no flag library implements: a
// flag takes the next word, its first occurrence counts, and a word that begins with -- isn't a
// value. Unknown flags are ignored.
type verbArgs []string

// value returns the word after --name; "" for none.
func (a verbArgs) value(name string) string {
	value, _ := a.given(name)
	return value
}

func (a verbArgs) given(name string) (value string, ok bool) {
	i := slices.Index(a, "--"+name)
	if i < 0 || i+1 == len(a) || strings.HasPrefix(a[i+1], "--") {
		return "", false
	}
	return a[i+1], true
}

func (a verbArgs) has(name string) bool { return slices.Contains(a, "--"+name) }

// at returns the n-th argument, "" if there are fewer.
func (a verbArgs) at(n int) string {
	if n < len(a) {
		return a[n]
	}
	return ""
}

// number parses --name as an integer; nil if it isn't given.
func (a verbArgs) number(name string) (*int, error) {
	text, ok := a.given(name)
	if !ok {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, &gsd.UsageError{Message: "Invalid --" + name + " value. Expected an integer."}
	}
	return &n, nil
}

// take removes the switch --name, which every verb has, and reports whether it was given.
func (a *verbArgs) take(name string) bool {
	i := slices.Index(*a, "--"+name)
	if i < 0 {
		return false
	}
	*a = slices.Delete(slices.Clone(*a), i, i+1)
	return true
}

// patchFields parses the fields of patch: one JSON object, or --Name value pairs.
func patchFields(a verbArgs) ([]gsd.Field, error) {
	if len(a) == 1 && strings.HasPrefix(strings.TrimSpace(a[0]), "{") {
		return gsd.ParsePatch(a[0])
	}
	var fields []gsd.Field
	for i := 0; i+1 < len(a); i += 2 {
		fields = append(fields, gsd.Field{Name: strings.TrimPrefix(a[i], "--"), Value: a[i+1]})
	}
	return fields, nil
}
