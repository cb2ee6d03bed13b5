package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/suggest"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
)

// An Overview is the content of project-state.json: a project's facts besides its slices. STATE.md
// shows it.
type Overview struct {
	ValueProp, Stack, Mode string
	Blockers               []string
}

// OverviewKeys returns the keys that can be set. The mode is in config.json.
func OverviewKeys() []string { return []string{"value_prop", "stack"} }

// ReadOverview reads the overview.
func ReadOverview(pr *project.Project) (*Overview, error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	p, err := s.ReadProject()
	if err != nil {
		return nil, err
	}
	o := &Overview{Mode: pr.Config.Mode, Blockers: p.Blockers()}
	o.ValueProp, o.Stack, _ = p.Overview()
	return o, nil
}

// OverviewChanges are changes of an overview, made in one write.
type OverviewChanges struct {
	Set     []Change // of OverviewKeys
	Add     []string // blockers
	Resolve []string // each a blocker, or an unambiguous part of one
	Decide  []string // decisions of the whole project
}

// ParseOverview reads key=value words.
func ParseOverview(words []string) (list []Change, err error) {
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
			return nil, badArgument("%q: expected key=value, with one of %s", word,
				strings.Join(OverviewKeys(), ", "))
		case key == "mode":
			return nil, badArgument("the mode is a setting: run gl settings mode %s", value)
		case !slices.Contains(OverviewKeys(), key):
			hint := ""
			if near := suggest.Match(key, OverviewKeys()); near != "" {
				hint = ", did you mean " + near + "?"
			}
			return nil, badArgument("unknown key %q%s expected one of %s", key, hint,
				strings.Join(OverviewKeys(), ", "))
		}
		list = append(list, Change{Key: key, Value: value})
	}
	return list, nil
}

// EditOverview changes the overview, and STATE.md with it. It returns the numbers of new decisions.
func EditOverview(ctx context.Context, pr *project.Project,
	c OverviewChanges) (decided []string, err error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	if len(c.Set)+len(c.Add)+len(c.Resolve) > 0 {
		if err := editOverview(ctx, s, c); err != nil {
			return nil, err
		}
	}
	if len(c.Decide) == 0 {
		return nil, nil
	}
	return s.Decide(ctx, time.Now(), c.Decide...)
}

func editOverview(ctx context.Context, s project.SliceKeeper, c OverviewChanges) error {
	return s.EditProject(ctx, func(p *slice.ProjectState) error {
		for _, ch := range c.Set {
			if err := p.SetOverview(ch.Key, ch.Value); err != nil {
				return err
			}
		}
		for _, text := range c.Resolve {
			whole, err := theBlocker(p.Blockers(), text)
			if err != nil {
				return err
			}
			if _, err := p.RemoveBlocker(whole); err != nil {
				return err
			}
		}
		for _, text := range c.Add {
			if err := p.AddBlocker(text); err != nil {
				return err
			}
		}
		return nil
	})
}

// theBlocker returns the blocker with this text, or else the only one that contains it.
func theBlocker(all []string, text string) (string, error) {
	if slices.Contains(all, text) {
		return text, nil
	}
	var found []string
	for _, b := range all {
		if strings.Contains(strings.ToLower(b), strings.ToLower(text)) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("no blocker contains %q: gl state overview lists them", text)
	}
	return "", fmt.Errorf("%d blockers contain %q: give more of the text of the one you mean",
		len(found), text)
}
