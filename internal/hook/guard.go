package hook

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/durable"
	"greenlight/internal/guard"
	"greenlight/internal/plugin"
	"greenlight/internal/project"
	"greenlight/internal/statedir"
)

// guard is why the tool may not be called; nil if it may.
func (s *session) guard() error {
	_, name, ok := strings.Cut(s.AgentType, ":")
	if !ok {
		name = s.AgentType
	}
	c := guard.Call{Tool: s.Tool, Agent: name, Input: s.ToolInput}
	path := c.Path()
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Cwd, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	path = realPath(path)
	if refusal := s.guardState(c, path); refusal != nil {
		return refusal
	}
	return s.guardTests(c, path)
}

// realPath resolves symbolic links in as much of the path as exists.
func realPath(path string) string {
	if full, err := filepath.EvalSymlinks(path); err == nil {
		return full
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir), filepath.Base(path))
}

// guardState is about files in the .greenlight of the session's own project, and reads nothing for others. A .greenlight
// elsewhere, below testdata for instance, isn't state.
func (s *session) guardState(c guard.Call, path string) error {
	_, rel, ok := strings.Cut(filepath.ToSlash(path), "/"+statedir.Name+"/")
	if !ok {
		return nil
	}
	dir := strings.TrimSuffix(path, filepath.FromSlash(statedir.Name+"/"+rel))
	root, err := project.Find(s.Cwd, s.getenv)
	if err != nil { // the session has changed to another directory
		root, err = project.Find(dir, s.getenv)
	}
	if err != nil || realPath(root) != filepath.Clean(dir) { // a copy on a branch isn't the state
		return nil
	}
	before, err := durable.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && before == nil {
		before = []byte{}
	}
	return guard.State(c, rel, before, guarded(root))
}

// guarded says whether agents must change the state of the project at root only through gl.
func guarded(root string) bool {
	pr, err := project.Open(root)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(pr.Views(), func(v *project.Project) bool { return v.Tracker.Traits().Guarded })
}

// guardTests is about the project's tests.
func (s *session) guardTests(c guard.Call, path string) error {
	root, err := project.Find(s.Cwd, s.getenv)
	if err != nil {
		return nil
	}
	cwd, err := filepath.Abs(s.Cwd)
	if err != nil {
		return nil
	}
	rel := within(path, realPath(cwd), realPath(root))
	if rel == "" || !guard.IsTest(rel) {
		return nil
	}
	if c.Agent != "" {
		return isolation().Tests(c, rel)
	}
	pr := s.project()
	if pr == nil {
		return nil
	}
	p, err := pr.Plan(s.now, pr.Options())
	if err != nil {
		return nil
	}
	for _, st := range s.held(pr, p) {
		if strings.EqualFold(st.Step, "implementing") {
			return guard.Implementing(c, rel, st.ID)
		}
	}
	return nil
}

// within is the path relative to the first of the directories that contains it, with forward slashes; "" for none.
func within(path string, dirs ...string) string {
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

// isolation is the table that ships with the agents; a test checks that it can be read.
func isolation() guard.Isolation {
	data, err := plugin.Read("isolation.json")
	if err != nil {
		return nil
	}
	all, _ := guard.ParseIsolation(data)
	return all
}
