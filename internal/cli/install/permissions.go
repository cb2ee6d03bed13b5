package install

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"greenlight/internal/base/text/jsonedit"
)

// permissions is the path of the rules by which Claude Code runs tools without asking.
var permissions = []string{"permissions", "allow"}

// Rules returns the permissions with which a session follows the content without asking: gl,
// the commands that a model may start by itself, and more, such as the project's test command.
// Permissions of a slash command would lapse after its first turn.
func Rules(c Content, more ...string) ([]string, error) {
	rules := []string{"Bash(gl:*)"}
	names, err := fs.Glob(c.Plugin, "commands/*.md")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := fs.ReadFile(c.Plugin, name)
		if err != nil {
			return nil, err
		}
		d := parseDoc(strings.TrimSuffix(strings.TrimPrefix(name, "commands/"), ".md"), data)
		if d.front["disable-model-invocation"] != "true" {
			rules = append(rules, fmt.Sprintf("Skill(gl:%s)", d.name))
		}
	}
	for _, command := range more {
		rules = append(rules, fmt.Sprintf("Bash(%s)", command))
	}
	return rules, nil
}

// mergeRules removes those of our rules that are no longer wanted, and adds the missing ones.
// If the caller doesn't know the test command, its rule stays.
func (h *settings) mergeRules(doc *jsonedit.Doc, want []string) error {
	for _, rule := range slices.Clone(h.Rules) {
		if !slices.Contains(want, rule) {
			h.takeOutRule(doc, rule)
		}
	}
	have := map[string]bool{}
	for _, raw := range doc.Elements(permissions...) {
		var rule string
		if json.Unmarshal(raw, &rule) == nil {
			have[rule] = true
		}
	}
	ours := []string{}
	for _, rule := range want {
		if have[rule] && !slices.Contains(h.Rules, rule) {
			continue // the user's own
		}
		ours = append(ours, rule)
		if have[rule] {
			continue
		}
		for i := range permissions {
			if _, ok := doc.Get(permissions[:i+1]...); !ok {
				h.made(permissions[i])
			}
		}
		raw, err := json.Marshal(rule)
		if err == nil {
			err = doc.Append(raw, permissions...)
		}
		if err != nil {
			return err
		}
	}
	h.Rules = ours
	return nil
}

// takeOutRule removes one of our rules, and the list and object around it if we created them
// and they are empty.
func (h *settings) takeOutRule(doc *jsonedit.Doc, rule string) {
	i := slices.IndexFunc(doc.Elements(permissions...), func(raw json.RawMessage) bool {
		var text string
		return json.Unmarshal(raw, &text) == nil && text == rule
	})
	if i >= 0 {
		doc.RemoveElement(i, permissions...)
	}
	h.removeEmpty(doc, permissions, permissions[:1])
}

// removeEmpty removes those of the keys, given as paths, that we created and that are empty.
func (h *settings) removeEmpty(doc *jsonedit.Doc, keys ...[]string) {
	for _, key := range keys {
		raw, ok := doc.Get(key...)
		if name := key[len(key)-1]; ok && slices.Contains(h.Made, name) && len(compact(raw)) == 2 {
			doc.Remove(key...)
			h.Made = slices.DeleteFunc(h.Made, func(m string) bool { return m == name })
		}
	}
}
