package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/guard"
	"greenlight/internal/state/statedir"
)

// guard returns why the tool may not be called; nil if it may.
func (s *session) guard() error {
	c := guard.Call{Tool: s.Tool, Agent: s.agentName(), Input: s.ToolInput}
	given := c.Input.Paths
	switch {
	case c.Tool == "Bash" || c.Tool == "PowerShell":
		return s.guardShell(c)
	case c.Tool == "Glob": // check what it lists rather than where it begins
		given = []string{filepath.Join(append(given, c.Input.Pattern)...)}
	case c.Tool == "Grep" && !s.isFile(given):
		if refusal := isolation().Search(c); refusal != nil {
			return refusal
		}
		return nil
	}
	for _, path := range s.places(given) {
		if len(path) > guard.MaxPath {
			return fmt.Errorf("the path is %d bytes long, and no file has one of more than %d: use a shorter one", len(path), guard.MaxPath)
		}
		path = realPath(path, os.Readlink)
		if refusal := s.guardState(c, path); refusal != nil {
			return refusal
		}
		if refusal := s.guardTests(c, path); refusal != nil {
			return refusal
		}
	}
	return nil
}

// guardShell checks the tests named in a shell command of an agent that may not read tests.
// Other effects of the command are found by comparing.
func (s *session) guardShell(c guard.Call) error {
	if !isolation().HidesTests(c.Agent) {
		return nil
	}
	here, _ := project.Locate(s.Cwd, s.getenv)
	for _, path := range s.places(guard.ShellFiles(c.Input.Command)) {
		path = realPath(path, os.Readlink)
		there, _ := project.Locate(filepath.Dir(path), s.withoutRoot)
		for _, root := range []string{here.Root, there.Root} {
			if root == "" {
				continue
			}
			for _, rel := range s.inProject(root, here, there, path) {
				if refusal := isolation().Shell(c.Agent, rel); refusal != nil {
					return refusal
				}
			}
		}
	}
	return nil
}

// handedOver reports whether the session's slice has handed over its tests.
func (s *session) handedOver() bool {
	if pr, lineage := s.lineage(); lineage != nil {
		ctx, cancel := context.WithTimeout(context.Background(), comparing)
		defer cancel()
		repo, err := pr.Worktrees(ctx)
		if err != nil {
			return true // unknown
		}
		commit, err := repo.Snapshots.HandedOver(ctx, lineage)
		return err != nil || commit != ""
	}
	pr := s.project()
	if pr == nil {
		return false
	}
	p, err := pr.Plan(s.now, pr.Options())
	if err != nil {
		return false
	}
	return slices.ContainsFunc(s.held(pr, p), func(st *plan.State) bool {
		step := strings.ToLower(st.Step)
		return plan.IsStep(step) && step != "tests"
	})
}

// isFile reports whether all paths are existing files.
func (s *session) isFile(given []string) bool {
	for _, path := range s.places(given) {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return false
		}
	}
	return len(given) > 0
}

// places returns the absolute paths that the paths of a call may mean: a server may resolve
// them from the project instead of the session's directory.
func (s *session) places(given []string) []string {
	var list []string
	add := func(path string) {
		if path, err := filepath.Abs(path); err == nil && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	place, noProject := project.Locate(s.Cwd, s.getenv)
	for _, path := range given {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			add(filepath.Join(s.getenv("HOME"), rest))
		}
		if filepath.IsAbs(path) {
			add(path)
			continue
		}
		add(filepath.Join(s.Cwd, path))
		if noProject == nil && strings.HasPrefix(s.Tool, "mcp__") {
			add(filepath.Join(place.Here, path))
			add(filepath.Join(place.Root, path))
		}
	}
	return list
}

// maxLinks is the maximum number of symbolic links in a path, as in the kernel.
const maxLinks = 40

// realPath resolves the symbolic links in an absolute path, including dangling ones, because a
// write would create their target.
func realPath(path string, readlink func(string) (string, error)) string {
	const separator = string(filepath.Separator)
	done, todo := separator, strings.Split(path, separator)
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		next := filepath.Join(done, part) // also cleans ..
		target, err := readlink(next)
		if err != nil {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return filepath.Join(next, filepath.Join(todo...))
		}
		if filepath.IsAbs(target) {
			done = separator
		}
		todo = append(strings.Split(target, separator), todo...)
	}
	return done
}

// guardState protects gl's own files: the .greenlight of a project, and the record of what a
// person has allowed.
func (s *session) guardState(c guard.Call, path string) error {
	if !c.Writes() {
		return nil
	}
	if trust.Open(s.getenv).Keeps(path) {
		return errors.New("only a person says which commands gl may run: gl trust, in a terminal of their own")
	}
	if refusal := s.guardCopy(c, path); refusal != nil {
		return refusal
	}
	slashed := filepath.ToSlash(path) + "/" // a server may move the directory itself
	for at := 0; ; {
		i := strings.Index(slashed[at:], "/"+statedir.Name+"/")
		if i < 0 {
			return nil
		}
		dir, rel := path[:max(at+i, 1)],
			strings.TrimSuffix(slashed[at+i+len(statedir.Name)+2:], "/")
		if refusal := s.guardStateIn(c, dir, rel, path); refusal != nil {
			return refusal
		}
		at += i + 1
	}
}

// guardCopy checks the state files in a linked worktree, which are never read.
func (s *session) guardCopy(c guard.Call, path string) error {
	place, err := project.Locate(filepath.Dir(path), s.withoutRoot)
	if err != nil || place.Here == place.Root || s.isFixture(realPath(place.Root, os.Readlink)) {
		return nil
	}
	rel := within(path, place.Here)
	original := filepath.Join(place.Root, filepath.FromSlash(rel))
	if command := project.Keeper(rel); command != "" {
		return guard.NewCopyError(rel, original, command+" changes that one from here")
	}
	if rest, ok := strings.CutPrefix(rel+"/", statedir.Name+"/"); ok {
		return guard.Copy(c, strings.TrimSuffix(rest, "/"),
			filepath.Join(place.Root, statedir.Name), guarded(place.Root))
	}
	return nil
}

// guardStateIn checks a file in the .greenlight of a directory, and reads nothing unless that
// is a project's.
func (s *session) guardStateIn(c guard.Call, dir, rel, path string) error {
	if !s.isProject(dir) {
		return nil
	}
	before, err := durable.ReadFile(path)
	if before == nil && !errors.Is(err, os.ErrNotExist) {
		before = []byte{} // empty, a pipe or unreadable: any content is a change
	}
	return guard.State(c, rel, before, guarded(dir))
}

// isProject reports whether a directory is the root of a project whose .greenlight is live
// state: the session's own or any other, but not a copy on a branch or test data.
func (s *session) isProject(dir string) bool {
	own, err := project.Find(s.Cwd, s.getenv)
	if err == nil && realPath(own, os.Readlink) == dir {
		return true
	}
	root, findErr := project.Find(dir, s.withoutRoot)
	if findErr != nil || realPath(root, os.Readlink) != dir {
		return false
	}
	return !s.isFixture(dir)
}

// isFixture reports whether a project is test data of the session's own project.
func (s *session) isFixture(dir string) bool {
	own, err := project.Find(s.Cwd, s.getenv)
	if err != nil {
		return false
	}
	rel := within(dir, realPath(own, os.Readlink))
	return rel != "" && (guard.IsTestData(rel+"/") || guard.HousesTests(rel))
}

// withoutRoot is getenv without GREENLIGHT_ROOT.
func (s *session) withoutRoot(key string) string {
	if key == "GREENLIGHT_ROOT" {
		return ""
	}
	return s.getenv(key)
}

// guarded reports whether agents must change the state of the project at root only through gl.
func guarded(root string) bool {
	pr, err := project.Open(root)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(pr.Views(), func(v *project.Project) bool {
		return v.Tracker.Traits().Guarded
	})
}

// guardTests checks the tests of the session's project, and of the project that contains the
// file: a session may have changed directories since it claimed its slice.
func (s *session) guardTests(c guard.Call, path string) error {
	here, _ := project.Locate(s.Cwd, s.getenv)
	there, _ := project.Locate(filepath.Dir(path), s.withoutRoot)
	for i, root := range []string{here.Root, there.Root} {
		if root == "" || i > 0 && root == here.Root {
			continue
		}
		if refusal := s.guardTestsOf(c, root,
			s.inProject(root, here, there, path)); refusal != nil {
			return refusal
		}
	}
	return nil
}

// inProject returns the file's names in the project at root: relative to the project's place in
// the file's checkout, to the project itself, to that checkout's top, and to where the session
// works; none if the file isn't the project's.
func (s *session) inProject(root string, here, there project.Place, path string) []string {
	dirs := []string{root}
	if root == there.Root {
		dirs = []string{there.Here, root, checkout(path)}
	}
	if cwd, err := filepath.Abs(s.Cwd); err == nil && root == here.Root {
		dirs = append(dirs, cwd)
	}
	var names []string
	for _, dir := range dirs {
		if rel := within(path, realPath(dir, os.Readlink)); rel != "" && dir != "" {
			names = append(names, rel)
		}
	}
	return names
}

// checkout returns the nearest directory above the file with a .git; "" for none.
func checkout(path string) string {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if paths.Exists(filepath.Join(dir, ".git")) {
			return dir
		}
	}
	return ""
}

// guardTestsOf checks the tests of one project, given the file's names in it.
func (s *session) guardTestsOf(c guard.Call, root string, names []string) error {
	if c.Agent != "" {
		return s.guardIsolation(c, names)
	}
	names = slices.DeleteFunc(names, func(rel string) bool {
		return guard.KindOf(rel) != guard.Tests && !guard.IsContracts(rel)
	})
	if len(names) == 0 {
		return nil
	}
	pr, err := project.Open(root)
	if err != nil {
		return nil
	}
	p, err := pr.Plan(s.now, pr.Options())
	if err != nil {
		return nil
	}
	held := s.held(pr, p)
	if s.Unknown {
		held = active(p)
	}
	for _, st := range held {
		if strings.EqualFold(st.Step, "implementing") {
			_, handed := s.lineage()
			return guard.Implementing(c, names[0], st.ID, handed != nil)
		}
	}
	return nil
}

// guardIsolation checks one file by its names in a project, its own one first. Any name that
// makes it a test counts.
func (s *session) guardIsolation(c guard.Call, names []string) error {
	if len(names) == 0 {
		return nil
	}
	rel := names[0]
	if i := slices.IndexFunc(names, func(rel string) bool {
		return guard.KindOf(rel) == guard.Tests
	}); i >= 0 {
		rel = names[i]
	}
	return isolation().Isolated(c, rel, guard.IsRunnerConfig(rel) && s.handedOver())
}

// active returns the items in progress.
func active(p *plan.Plan) []*plan.State {
	var list []*plan.State
	for i := range p.States {
		if p.States[i].Class == plan.Active {
			list = append(list, &p.States[i])
		}
	}
	return list
}

// within returns the path relative to the first of the directories that contains it, with
// forward slashes; "" for none.
func within(path string, dirs ...string) string {
	for _, dir := range dirs {
		if rel, ok := paths.Below(dir, path); ok {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

// isolation returns the table shipped with the agents; a test checks that it can be parsed.
func isolation() guard.Isolation {
	data, err := plugin.Read("isolation.json")
	if err != nil {
		return nil
	}
	all, _ := guard.ParseIsolation(data)
	return all
}
