package cli

import (
	"encoding/json"
	"path/filepath"
	"sort"
	"strings"

	"greenlight/internal/plan"
	"greenlight/internal/text/jsonedit"
)

func checkView(x *exam) []finding {
	if x.pr.Slices == nil || x.conflicts[statePath] > 0 {
		return nil
	}
	stale, byHand, err := x.pr.Slices.CheckView()
	switch {
	case err != nil:
		return []finding{found(isWarning, statePath, err.Error(), "gl state render")}
	case byHand:
		return []finding{fixable(statePath, "is written by hand: the next write saves it as a backup and writes its own")}
	case stale:
		return []finding{fixable(statePath, "isn't what the slice files say")}
	}
	return nil
}

// checkProjectState looks at the types, too: what has another one is read as if it weren't there.
func checkProjectState(x *exam) []finding {
	if x.pr.Slices == nil {
		return nil
	}
	ps, err := x.pr.Slices.ReadProject()
	if err != nil {
		if x.conflicts[projectPath] > 0 {
			return nil
		}
		return []finding{found(isError, projectPath, err.Error(), "edit "+projectPath)}
	}
	var all []finding
	for _, bad := range wrongTypes(ps.Bytes()) {
		all = append(all, found(isWarning, projectPath, bad, "edit "+projectPath))
	}
	for _, id := range pausedIDs(ps.Bytes()) {
		mark, _ := ps.Paused(id)
		st := x.p.State(id)
		switch {
		case st == nil:
			all = append(all, found(isNote, projectPath, id+" is marked as paused, and is no slice", "edit "+projectPath).of(id))
		case st.Class == plan.Done:
			all = append(all, found(isNote, projectPath, id+" is marked as paused, and is done", "gl resume "+id).of(id))
		case mark.ResumeFile != "" && !exists(filepath.Join(x.pr.Root, filepath.FromSlash(mark.ResumeFile))):
			all = append(all, found(isNote, mark.ResumeFile, "the hand-off of "+id+" is gone", "gl pause "+id+" writes it anew").of(id))
		}
	}
	return all
}

// wrongTypes says which keys of project-state.json hold something else than what is read.
func wrongTypes(data []byte) []string {
	var top map[string]json.RawMessage
	if jsonedit.Unmarshal(data, &top) != nil {
		return []string{"must be an object"}
	}
	var bad []string
	for _, k := range []struct{ key, kinds, words string }{
		{"overview", `{"`, "an object"}, {"session", `{"`, "an object"}, {"blockers", `["`, "a list"}, {"paused", `{`, "an object"},
	} {
		raw := strings.TrimSpace(string(top[k.key]))
		if raw != "" && raw != "null" && !strings.Contains(k.kinds, raw[:1]) {
			bad = append(bad, k.key+" must be "+k.words)
		}
	}
	return bad
}

func pausedIDs(data []byte) []string {
	var top struct{ Paused map[string]json.RawMessage }
	_ = jsonedit.Unmarshal(data, &top) // what has other types is told above
	ids := make([]string, 0, len(top.Paused))
	for id := range top.Paused {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return plan.NaturalLess(ids[i], ids[j]) })
	return ids
}
