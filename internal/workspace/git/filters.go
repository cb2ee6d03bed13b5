package git

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
)

// An agent outside the sandbox can write the configuration that all worktrees share. So before gl
// runs a git that may filter content, it compares the filters there with what the person has
// allowed.

// A FilterJudge returns those of the filters that git must not run. An error means that git must
// not run at all.
type FilterJudge func(filters []Setting) (denied []Setting, err error)

// judges are the *filterGuard of repositories, by their common directory.
var judges sync.Map

// JudgeFilters makes judge decide which filters in the repository's own configuration this
// process's git runs in worktrees and checkouts of the repository. Without a judge all of them run.
func JudgeFilters(common string, judge FilterJudge) {
	judges.Store(common, &filterGuard{judge: judge})
}

type filterGuard struct {
	judge FilterJudge

	mu      sync.Mutex
	seen    []byte // the configuration that filters are of; nil for none
	filters []Setting
}

// filterOptions returns the options that switch off filters that aren't allowed. gitDir is the
// worktree's git directory, dir its top.
func filterOptions(ctx context.Context, common, gitDir, dir string) ([]string, error) {
	v, ok := judges.Load(common)
	if !ok {
		return nil, nil
	}
	g := v.(*filterGuard)
	filters, err := g.read(ctx, common, gitDir, dir)
	if err != nil || len(filters) == 0 {
		return nil, err
	}
	denied, err := g.judge(filters)
	if err != nil {
		return nil, err
	}
	return switchOff(denied)
}

// read returns the filters of the current configuration. Most repositories have none, which shows
// without running git.
func (g *filterGuard) read(ctx context.Context, common, gitDir, dir string) ([]Setting, error) {
	text, plain := configTexts(common, gitDir)
	if plain && text == nil {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if plain && g.seen != nil && bytes.Equal(text, g.seen) {
		return g.filters, nil
	}
	list, err := filterSettings(ctx, dir, "--git-dir="+gitDir)
	if err != nil {
		return nil, err
	}
	g.seen, g.filters = nil, effective(list)
	if again, _ := configTexts(common, gitDir); plain && bytes.Equal(text, again) {
		g.seen = text
	}
	return g.filters, nil
}

// configTexts returns the files of the repository's own configuration, concatenated, nil if no
// filter is in them. plain reports whether they are complete: they could be read and include
// nothing.
func configTexts(common, gitDir string) (text []byte, plain bool) {
	text, plain = ownConfig(common, gitDir)
	// Names of sections have no case and no escapes.
	if !bytes.Contains(bytes.ToLower(text), []byte("filter")) {
		return nil, plain
	}
	return text, plain
}

// ownConfig returns the files of the repository's own configuration, concatenated. plain reports
// whether they are complete.
func ownConfig(common, gitDir string) (text []byte, plain bool) {
	plain = true
	for _, file := range []string{filepath.Join(common, "config"),
		filepath.Join(common, "config.worktree"), filepath.Join(gitDir, "config.worktree")} {
		data, err := durable.ReadFile(file)
		if ignoreMissing(err) != nil {
			plain = false
		}
		// The comment keeps one file from looking like two.
		text = append(fmt.Appendf(text, "\n# %d\n", len(data)), data...)
	}
	return text, plain && !bytes.Contains(bytes.ToLower(text), []byte("include"))
}

// effective returns the filters that have a command, the last one of each key.
func effective(all []Setting) []Setting {
	var list []Setting
	for i, s := range all {
		overridden := slices.ContainsFunc(all[i+1:],
			func(later Setting) bool { return later.Key == s.Key })
		if !overridden && s.Value != "" && !strings.HasSuffix(s.Key, ".required") {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}
