package slice

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/text/jsonedit"
)

// A graphString is a string in the bytes of GRAPH.json.
type graphString struct {
	from, end int
	// the key whose value or list contains the string; for a key, the enclosing key
	key    string
	isKey  bool
	inList bool
}

// graphStrings returns the strings that equal text, in order.
func graphStrings(data []byte, text string) ([]graphString, error) {
	type level struct {
		list bool
		key  string
	}
	var found []graphString
	stack := []level{{}}
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '{', '[':
			key := stack[len(stack)-1].key
			stack = append(stack, level{c == '[', key})
		case '}', ']':
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return nil, errors.New("its brackets don't match")
			}
		case '"':
			from := i
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if i >= len(data) {
				return nil, errors.New("a string doesn't end")
			}
			var s string
			if err := json.Unmarshal(data[from:i+1], &s); err != nil {
				return nil, err
			}
			at := &stack[len(stack)-1]
			isKey := !at.list && strings.HasPrefix(strings.TrimLeft(string(data[i+1:min(len(data),
				i+64)]), " \t\r\n"), ":")
			if s == text {
				found = append(found, graphString{from, i + 1, at.key, isKey, at.list})
			}
			if isKey {
				at.key = s
			}
		}
	}
	return found, nil
}

// isText reports whether the values of a key are prose.
func isText(key string) bool {
	return slices.Contains([]string{"name", "title", "description", "what", "why", "milestone",
		"contracts"}, key)
}

// renameInGraph changes a slice's id everywhere in the graph; all other bytes stay the same.
func renameInGraph(data []byte, old, id string) ([]byte, error) {
	before, err := parseGraph(data)
	if err != nil {
		return nil, err
	}
	all, err := graphStrings(data, old)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(data)
	for _, s := range slices.Backward(all) {
		if s.isKey || !isText(s.key) {
			out = putIn(out, s.from, s.end, jsonedit.Quote(id))
		}
	}
	to := func(have string) (string, bool) {
		if have == old {
			have = id
		}
		return have, true
	}
	return out, checkMapped(before, out, to, old)
}

// removeFromGraph removes a slice and every dependency on it from the graph; all other bytes
// stay the same.
func removeFromGraph(data []byte, id string) ([]byte, error) {
	before, err := parseGraph(data)
	if err != nil {
		return nil, err
	}
	out, err := dropEntry(data, id)
	if err != nil {
		return nil, err
	}
	all, err := graphStrings(out, id)
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(all) {
		if s.inList && !isText(s.key) {
			from, end := aroundElement(out, s.from, s.end)
			out = putIn(out, from, end, "")
		}
	}
	return out, checkMapped(before, out,
		func(have string) (string, bool) { return have, have != id }, id)
}

// dropEntry removes the entry of a slice, if there is one.
func dropEntry(data []byte, id string) ([]byte, error) {
	doc, err := jsonedit.Parse(data)
	if err != nil {
		return nil, err
	}
	if spot, err := findSlices(data); err != nil {
		return nil, err
	} else if spot.found && !spot.array {
		doc.Remove("slices", id)
		return doc.Bytes(), nil
	}
	path := []string{"slices"}
	if strings.HasPrefix(strings.TrimLeft(string(data), "\ufeff \t\r\n"), "[") {
		path = nil
	}
	for i, raw := range doc.Elements(path...) {
		var s string
		var entry map[string]any
		if json.Unmarshal(raw, &s) == nil && s == id ||
			json.Unmarshal(raw, &entry) == nil && fmt.Sprint(entry["id"]) == id {
			doc.RemoveElement(i, path...)
			break
		}
	}
	return doc.Bytes(), nil
}

// aroundElement returns the range of a list element including its comma.
func aroundElement(data []byte, from, end int) (int, int) {
	const blank = " \t\r\n"
	next := end
	for next < len(data) && strings.IndexByte(blank, data[next]) >= 0 {
		next++
	}
	if next < len(data) && data[next] == ',' {
		next++
		for next < len(data) && strings.IndexByte(blank, data[next]) >= 0 {
			next++
		}
		return from, next
	}
	before := from
	for before > 0 && strings.IndexByte(blank, data[before-1]) >= 0 {
		before--
	}
	if before > 0 && data[before-1] == ',' {
		return before - 1, end
	}
	return from, end
}

// checkMapped checks that the new text means the same as the old one, with ids mapped by to.
func checkMapped(before *graph, out []byte, to func(string) (string, bool), id string) error {
	after, err := parseGraph(out)
	byHand := fmt.Errorf("%s names %s in a way that gl doesn't change: edit it by hand, then run this again", stateRel("GRAPH.json"), id)
	if err != nil {
		return byHand
	}
	mapped := func(list []string) []string {
		var out []string
		for _, have := range list {
			if have, keep := to(have); keep {
				out = append(out, have)
			}
		}
		return out
	}
	i := 0
	for _, e := range before.entries {
		want, keep := to(e.id)
		if !keep {
			continue
		}
		if i >= len(after.entries) || after.entries[i].id != want ||
			!equal(after.entries[i].deps, mapped(e.deps)) {
			return byHand
		}
		i++
	}
	if i != len(after.entries) {
		return byHand
	}
	for from, list := range before.edges {
		if from, keep := to(from); keep && !equal(after.edges[from], mapped(list)) {
			return byHand
		}
	}
	return nil
}
