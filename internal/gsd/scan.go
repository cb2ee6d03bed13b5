package gsd

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
)

// A PhaseDir is what a directory under .planning/phases says of its phase.
type PhaseDir struct {
	Name string // "04.5-observability"
	Key  string // PhaseKey of the id that the name begins with

	Waves     map[int]Wave
	Plans     int  // plans that are to be carried out: superseded ones don't count
	Summaries int  // plans with a summary beside them
	Had       bool // there are plans, superseded ones included

	Context      bool   // CONTEXT.md: the phase has been discussed
	Research     bool   // RESEARCH.md
	Verification string // status of VERIFICATION.md: passed, gaps_found, human_needed, …; "" without one
	UAT          string // status of UAT.md: testing, partial, complete, diagnosed; "" without one
	Changed      time.Time
}

// A Wave is the plans of a phase that execute-phase carries out side by side: their frontmatter's wave.
type Wave struct {
	Plans []string // their files' names, without what all have
	Done  int      // those with a summary
}

// Complete says whether all that was planned has been carried out.
func (p *PhaseDir) Complete() bool { return p.Had && p.Summaries >= p.Plans }

// ScanPhases reads the phase directories in natural order of their names. A directory that names no phase is left out;
// one that can't be read counts nothing. Without .planning/phases there are none.
func ScanPhases(dir string) []PhaseDir {
	list, err := durable.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dirs []PhaseDir
	for _, d := range list {
		path := filepath.Join(dir, d.Name())
		key := dirKey(d.Name())
		if key == "" || !d.IsDir() && !paths.IsDir(path) {
			continue
		}
		dirs = append(dirs, scanPhase(path, d.Name(), key))
	}
	sort.SliceStable(dirs, func(i, j int) bool { return plan.NaturalLess(dirs[i].Name, dirs[j].Name) })
	return dirs
}

// dirKey is the key of the phase whose directory has that name.
func dirKey(name string) string { return PhaseKey(phaseToken(stripCode(name))) }

func scanPhase(path, name, key string) PhaseDir {
	p := PhaseDir{Name: name, Key: key, Waves: map[int]Wave{}}
	if info, err := os.Stat(path); err == nil {
		p.Changed = info.ModTime()
	}
	var plans []string
	have := map[string]bool{}
	for _, sub := range []string{"", "plans"} {
		list, _ := durable.ReadDir(filepath.Join(path, sub))
		for _, d := range list {
			file := filepath.ToSlash(filepath.Join(sub, d.Name()))
			have[file] = true
			if isPlan(file) {
				plans = append(plans, file)
			}
			p.note(path, file)
		}
	}
	for _, file := range plans {
		p.Had = true
		front := readFront(filepath.Join(path, file))
		if strings.EqualFold(front.word("status"), "superseded") {
			continue
		}
		n, err := strconv.Atoi(front.word("wave"))
		if err != nil {
			n = 1
		}
		w := p.Waves[n]
		w.Plans = append(w.Plans, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".md"), "-PLAN"))
		p.Plans++
		if hasSummary(file, have) {
			p.Summaries++
			w.Done++
		}
		p.Waves[n] = w
	}
	return p
}

// note takes the other files of a phase in.
func (p *PhaseDir) note(path, file string) {
	switch {
	case strings.HasSuffix(file, "-CONTEXT.md") || file == "CONTEXT.md":
		p.Context = true
	case strings.HasSuffix(file, "-RESEARCH.md") || file == "RESEARCH.md":
		p.Research = true
	case strings.HasSuffix(file, "-VERIFICATION.md") || file == "VERIFICATION.md":
		p.Verification = statusOf(filepath.Join(path, file))
	case strings.HasSuffix(file, "-UAT.md") || file == "UAT.md":
		p.UAT = statusOf(filepath.Join(path, file))
	}
}

// statusOf is the status in a report's frontmatter; "unknown" where it has none.
func statusOf(path string) string {
	if s := strings.ToLower(readFront(path).word("status")); s != "" {
		return s
	}
	return Unknown
}

// readFront reads a file for its frontmatter; one that can't be read has none.
func readFront(path string) *Doc {
	data, _ := readStart(path)
	return Parse(data)
}

// isPlan says whether a file of a phase, at its top or in plans/, is a plan.
func isPlan(file string) bool {
	lower := strings.ToLower(file)
	for _, derived := range []string{"-outline.md", ".pre-bounce.md", "-plan-review.md"} {
		if strings.HasSuffix(lower, derived) {
			return false
		}
	}
	if nested, ok := strings.CutPrefix(file, "plans/"); ok {
		return nestedPlan().MatchString(nested)
	}
	return strings.HasSuffix(lower, ".md") && strings.Contains(lower, "plan") && !strings.HasSuffix(file, "SUMMARY.md")
}

var (
	nestedPlan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(^|-)PLAN-\d+.*\.md$`) })
	planMark   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)PLAN`) })
	titledPlan = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^((?:\d{2,}[A-Z]?|\d[A-Z])(?:\.\d+)*-(?:\d{2}[A-Z]?|\d[A-Z])(?:\.\d+)*)-`)
	})
	numberedPlan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(\d+)-PLAN-(\d+)`) })
)

// hasSummary says whether a plan has been carried out: one of the names that its summary may have is there.
func hasSummary(file string, have map[string]bool) bool {
	dir, base := "", strings.TrimSuffix(file, filepath.Ext(file))
	if rest, ok := strings.CutPrefix(base, "plans/"); ok {
		dir, base = "plans/", rest
	}
	names := []string{base + "-SUMMARY"}
	if stem, ok := strings.CutSuffix(base, "-PLAN"); ok {
		names = append(names, stem+"-SUMMARY")
	}
	if at := planMark().FindStringIndex(base); at != nil {
		names = append(names, base[:at[0]]+"SUMMARY"+base[at[1]:])
	}
	if m := numberedPlan().FindStringSubmatch(base); m != nil {
		names = append(names, m[1]+"-"+m[2]+"-SUMMARY")
	}
	if m := titledPlan().FindStringSubmatch(base); m != nil { // 18-01-outreach-PLAN.md, 18-01-SUMMARY.md
		names = append(names, m[1]+"-SUMMARY")
	}
	for _, n := range names {
		if have[dir+n+".md"] {
			return true
		}
	}
	return false
}

func atoi(s string) int {
	n := 0
	for _, c := range digits(strings.TrimSpace(s)) {
		if n = 10*n + int(c-'0'); n > 1<<20 {
			return 1 << 20
		}
	}
	return n
}
