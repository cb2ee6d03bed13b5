package project

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/base/suggest"
	"greenlight/internal/base/text/jsonedit"
)

// A Model is the model of a role in the work.
type Model struct {
	Role     string // "architect", "test_writer", …
	Model    string // "" if unspecified: the role's own file decides
	Override bool   // it is set for the role rather than by the profile
}

// Profiles returns the names that model_profile may have: the file's own, or else the usual
// ones.
func (s *Settings) Profiles() []string {
	if own := s.doc.Keys("profiles"); len(own) > 0 {
		return own
	}
	return []string{"quality", "balanced", "budget"}
}

// usualModel returns the model of a role in one of the usual profiles, used if the file has
// none: roles that decide what is built get the best model, roles that only read get the
// cheapest.
func usualModel(profile, role string) string {
	decides := role == "architect" || role == "designer"
	reads := role == "codebase_mapper" || role == "assessor" || role == "verifier"
	switch {
	case !slices.Contains(usualRoles(), role):
		return ""
	case profile == "quality", profile == "balanced" && decides:
		return "opus"
	case profile == "budget" && reads:
		return "haiku"
	}
	return "sonnet"
}

func usualRoles() []string {
	return []string{"architect", "designer", "test_writer", "implementer", "security", "debugger", "verifier",
		"codebase_mapper", "assessor", "wrapper"}
}

// Profile returns the effective profile.
func (s *Settings) Profile() string {
	set, _ := s.Get("model_profile") // a known key
	var name string
	_ = json.Unmarshal(set.Value, &name) // validated, or gl's default
	return name
}

// Models returns the model of every role named by the profiles or the overrides, or else of the
// usual roles.
func (s *Settings) Models() []Model {
	profile := s.Profile()
	var list []Model
	for _, role := range s.Roles() {
		m := Model{Role: role}
		m.Model = s.text("model_overrides", role)
		switch m.Override = m.Model != ""; {
		case m.Override:
		case len(s.doc.Keys("profiles")) > 0:
			m.Model = s.text("profiles", profile, role)
		default:
			m.Model = usualModel(profile, role)
		}
		list = append(list, m)
	}
	return list
}

// ModelOf returns the model of one role, which may be given by its agent's name. The error is a
// *SettingError for an unknown role.
func (s *Settings) ModelOf(role string) (Model, error) {
	role, err := s.role(role)
	if err != nil {
		return Model{}, err
	}
	all := s.Models()
	return all[slices.IndexFunc(all, func(m Model) bool { return m.Role == role })], nil
}

// Roles returns the roles that work on a slice.
func (s *Settings) Roles() []string {
	var roles []string
	add := func(more []string) {
		for _, r := range more {
			if !slices.Contains(roles, r) {
				roles = append(roles, r)
			}
		}
	}
	add(s.doc.Keys("profiles", s.Profile()))
	for _, p := range s.doc.Keys("profiles") {
		add(s.doc.Keys("profiles", p))
	}
	if len(roles) == 0 {
		add(usualRoles())
	}
	add(s.doc.Keys("model_overrides"))
	return roles
}

// text returns the string at a path; "" for none.
func (s *Settings) text(path ...string) string {
	var text string
	if raw, ok := s.doc.Get(path...); ok {
		_ = json.Unmarshal(raw, &text) // a value of another type is ignored
	}
	return text
}

// ResetModel is the word that removes an override.
const ResetModel = "reset"

// ModelNames returns Claude Code's short names for models, for completion and suggestions.
func ModelNames() []string {
	return []string{"opus", "sonnet", "haiku", "inherit", "default", "opusplan"}
}

var modelGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,127}$`) })

// SetModel overrides the model of a role, or removes the override (ResetModel). The role may be
// given by its agent's name: gl-test-writer is test_writer. The error is a *SettingError for an
// invalid role or model.
func (s *Settings) SetModel(role, model string) error {
	role, err := s.role(role)
	if err != nil {
		return err
	}
	if model == ResetModel {
		s.doc.Remove("model_overrides", role)
		return nil
	}
	// Which models exist is up to the client, which learns new ones. Reject only likely typos.
	meant := suggest.Match(model, append(ModelNames(), ResetModel))
	if slices.Contains(ModelNames(), model) || strings.ContainsAny(model, "0123456789-:/.") {
		meant = ""
	}
	if meant != "" || !modelGrammar().MatchString(model) {
		return &SettingError{
			Reason: fmt.Sprintf("unknown model %q (a name that the agent knows, such as %s, or a full model id; %s removes the override)",
				model, strings.Join(ModelNames(), ", "), ResetModel),
			Got: model, Known: append(ModelNames(), ResetModel),
		}
	}
	return s.put(json.RawMessage(jsonedit.Quote(model)), "model_overrides", role)
}

// role finds the role that is meant.
func (s *Settings) role(name string) (string, error) {
	all := s.Roles()
	plain := func(r string) string {
		return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(r), "gl-"), "-", "_")
	}
	for _, same := range []func(string) bool{
		func(r string) bool { return r == name },
		func(r string) bool { return plain(r) == plain(name) },
	} {
		if i := slices.IndexFunc(all, same); i >= 0 {
			return all[i], nil
		}
	}
	return "", &SettingError{
		Reason: fmt.Sprintf("no agent is called %q (there are: %s)", name, strings.Join(all, ", ")), Got: plain(name), Known: all,
	}
}
