package gsd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/plan"
)

// A PhaseDir describes the files of a directory under .planning/phases.
type PhaseDir struct {
	Name string // "04.5-observability"
	Key  string // PhaseKey of the id at the start of the name

	Waves map[int]Wave
	// plans to carry out, without superseded ones; if there are no plan files, the number of
	// summaries
	Plans     int
	Summaries int  // plans carried out, according to a summary
	Had       bool // there are plans, maybe superseded, or summaries of plans

	Context  bool // CONTEXT.md: the phase has been discussed
	Research bool // RESEARCH.md
	// status in VERIFICATION.md: passed, gaps_found, human_needed, …; "" without one
	Verification string
	UAT          string // status in UAT.md: testing, partial, complete, diagnosed; "" without one
	Changed      time.Time

	files []planFile // the plans to carry out, by name
}

// A planFile is a plan of a phase.
type planFile struct {
	name string // relative to the phase's directory
	wave int
	done bool // it has a summary
}

// A Wave is the plans of a phase that execute-phase runs in parallel, by the wave in their
// front matter.
type Wave struct {
	Plans []string // file names, without their common part
	Done  int      // number of plans with a summary
}

// Complete reports whether everything planned has been carried out.
func (p *PhaseDir) Complete() bool { return p.Had && p.Summaries >= p.Plans }

// ScanPhases reads the phase directories in natural order of their names. It omits directories
// that name no phase; an unreadable one counts as empty. Without .planning/phases there are
// none.
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
		dirs = append(dirs, scanPhase(path, d.Name(), key, false))
	}
	sort.SliceStable(dirs, func(i, j int) bool {
		return plan.NaturalLess(dirs[i].Name, dirs[j].Name)
	})
	return dirs
}

// dirKey returns the key of the phase whose directory has that name.
func dirKey(name string) string { return PhaseKey(phaseToken(stripCode(name))) }

// scanPhase reads a phase's directory. exact pairs plans and summaries by GSD's own rule only.
func scanPhase(path, name, key string, exact bool) PhaseDir {
	p := PhaseDir{Name: name, Key: key, Waves: map[int]Wave{}}
	if info, err := os.Stat(path); err == nil {
		p.Changed = info.ModTime()
	}
	var plans, summaries []string
	var reports reports
	for _, sub := range []string{"", "plans"} {
		list, _ := durable.ReadDir(filepath.Join(path, sub))
		for _, d := range list {
			file := filepath.ToSlash(filepath.Join(sub, d.Name()))
			status := func() string { return readFront(filepath.Join(path, file)).word("status") }
			switch {
			case isPlan(file, exact):
				plans = append(plans, file)
			case isSummary(file, exact) && !strings.EqualFold(status(), "blocked"):
				summaries = append(summaries, file)
			}
			reports.note(&p, file)
		}
	}
	p.Verification, p.UAT = statusOf(path, reports.verification), statusOf(path, reports.uat)
	p.count(path, plans, summaries, exact)
	return p
}

// count counts the plans and those carried out. If a phase's plans are gone, the summaries
// count.
func (p *PhaseDir) count(path string, plans, summaries []string, exact bool) {
	var open []string
	for _, file := range plans {
		p.Had = true
		front := readFront(filepath.Join(path, file))
		if strings.EqualFold(front.word("status"), "superseded") {
			continue
		}
		open = append(open, file)
		n, err := strconv.Atoi(front.word("wave"))
		if err != nil {
			n = 1
		}
		p.files = append(p.files, planFile{name: file, wave: n})
		w := p.Waves[n]
		w.Plans = append(w.Plans, planTitle(file))
		p.Waves[n] = w
	}
	p.Plans = len(open)
	done := pair(open, summaries, exact)
	for i := range p.files {
		p.files[i].done = slices.Contains(done, p.files[i].name)
	}
	p.Summaries = len(done)
	for n, w := range p.Waves {
		for _, name := range w.Plans {
			if slices.ContainsFunc(done, func(file string) bool { return planTitle(file) == name }) {
				w.Done++
			}
		}
		p.Waves[n] = w
	}
	if len(plans) == 0 && !exact {
		p.Plans = plansOf(summaries)
		p.Summaries, p.Had = p.Plans, p.Plans > 0
	}
}

// planTitle returns a plan's file name without the part that all plans share.
func planTitle(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".md"), "-PLAN")
}

// plansOf returns how many plans the summaries cover. A phase may have a summary of the whole
// in addition to those of its plans.
func plansOf(summaries []string) int {
	numbered := 0
	for _, file := range summaries {
		if number, _ := planNumber(file); number != "" {
			numbered++
		}
	}
	return max(numbered, min(len(summaries), 1))
}

// reports are the file names of a phase's reports: preferably its own, rather than those of one
// plan or another phase.
type reports struct {
	verification, uat         string
	verificationRank, uatRank int
}

// note records another file of a phase.
func (r *reports) note(p *PhaseDir, file string) {
	pick := func(kind string, have *string, rank *int) {
		if n := reportRank(file, kind, p.Key); n > *rank {
			*have, *rank = file, n
		}
	}
	switch {
	case strings.HasSuffix(file, "-CONTEXT.md") || file == "CONTEXT.md":
		p.Context = true
	case strings.HasSuffix(file, "-RESEARCH.md") || file == "RESEARCH.md":
		p.Research = true
	}
	pick("VERIFICATION", &r.verification, &r.verificationRank)
	pick("UAT", &r.uat, &r.uatRank)
}

// reportRank rates how well a file name fits the phase's report of that kind; 0 for not at all.
func reportRank(file, kind, key string) int {
	if file == kind+".md" {
		return 3
	}
	stem, ok := strings.CutSuffix(file, "-"+kind+".md")
	switch id := PhaseKey(phaseToken(stripCode(stem))); {
	case !ok || strings.Contains(file, "/"):
		return 0
	case PhaseKey(stem) == key:
		return 4
	case id == key || id == "":
		return 2 // of one plan, or with a title
	}
	return 1
}

// statusOf returns the status of a report from its front matter or, failing that, its text;
// "unknown" if neither has one, "" without a report.
func statusOf(dir, file string) string {
	if file == "" {
		return ""
	}
	front := readFront(filepath.Join(dir, file))
	if s := front.word("status"); s != "" {
		return verdict(s)
	}
	head := front.Body()
	if m := verdictLine().FindSubmatch(head[:min(len(head), maxVerdict)]); m != nil {
		return verdict(string(m[1]))
	}
	return Unknown
}

// maxVerdict is how many bytes of a report's text are searched for its status.
const maxVerdict = 4 << 10

var (
	verdictLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?im)^[\s*_>-]*(?:overall\s+)?(?:status|verdict|result)[*_]*\s*:[*_]*[ \t]*(\S.*)$`)
	})
	verdictWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\W*(?:(all[ _-]+)?(passed|pass|verified|complete|completed|approved|resolved)|(human|needs[ _-]human)|` +
			`(gaps?|fail|failed|reopened|rejected|not))(?:[\W_]|$)`)
	})
)

// verdict translates a report's status to GSD's word: passed for PASS, Verified, ✅ **Passed**
// (4/4).
func verdict(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	m := verdictWords().FindStringSubmatch(text)
	switch {
	case m == nil:
		return text
	case m[3] != "" || m[2] != "" && strings.Contains(text, "human"):
		return "human_needed"
	case m[4] == "not":
		return text
	case m[4] != "":
		return "gaps_found"
	case standingPatterns().pending.MatchString(text):
		return "partial"
	}
	return "passed"
}

// readFront reads a file's front matter; an unreadable file has none.
func readFront(path string) *Doc {
	data, _ := readStart(path)
	return Parse(data)
}

// isPlan reports whether a file of a phase, at its top or in plans/, is a plan: PLAN.md,
// 01-02-PLAN.md, 1-PLAN-02-setup.md. A file about plans, such as 01-PLAN-CHECK.md, isn't one.
func isPlan(file string, exact bool) bool {
	lower := strings.ToLower(file)
	for _, derived := range []string{"-outline.md", ".pre-bounce.md", "-plan-review.md",
		"summary.md"} {
		if strings.HasSuffix(lower, derived) {
			return false
		}
	}
	nested, ok := strings.CutPrefix(file, "plans/")
	if ok && (exact || nestedPlan().MatchString(nested)) {
		return nestedPlan().MatchString(nested)
	}
	return planName().MatchString(nested)
}

// isSummary reports whether a file is the summary of a plan, rather than of something else.
func isSummary(file string, exact bool) bool {
	nested, ok := strings.CutPrefix(file, "plans/")
	switch {
	case exact && ok:
		return nestedSummary().MatchString(nested)
	case exact:
		return strings.HasSuffix(file, "-SUMMARY.md") || file == "SUMMARY.md"
	}
	m := summaryName().FindStringSubmatch(nested)
	if m == nil {
		return false
	}
	switch strings.ToUpper(m[1]) {
	case "RESEARCH", "PLAN", "PLANS", "PLANNING", "CONTEXT", "DISCUSSION", "VERIFICATION", "UAT",
		"REVIEW", "VALIDATION":
		_, number := planNumber(file)
		return number // as in 1-PLAN-02-SUMMARY.md
	}
	return true
}

var (
	planName      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|-)PLAN(?:-\d+.*)?\.md$`) })
	nestedPlan    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|-)PLAN-\d+.*\.md$`) })
	summaryName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|([A-Z]*)-)SUMMARY(?:-\d+.*)?\.md$`) })
	nestedSummary = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|-)SUMMARY-\d+.*\.md$`) })
	planMark      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)PLAN`) })
	titledPlan    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|-)((?:\d{2,}[A-Z]?|\d[A-Z])(?:\.\d+)*-(?:\d{2}[A-Z]?|\d[A-Z])(?:\.\d+)*)(?:-|$)`)
	})
	numberedPlan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(\d+)-PLAN-(\d+)`) })
	numbers      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:[A-Z][A-Z0-9_]*-)?(\d+[A-Z]?(?:\.\d+)*)(?:-(?:PLAN-|SUMMARY-)?(\d+[A-Z]?(?:\.\d+)*))?(?:\W|$)|^(?:PLAN|SUMMARY)-(\d+)`)
	})
)

// planNumber returns the number of a plan within its phase from a file's name, and whether it
// is distinct from the phase's number: 1 for 03-01-PLAN.md and PLAN-01.md. For 03-PLAN.md and
// PLAN.md, number is "".
func planNumber(file string) (number string, ok bool) {
	stem := strings.TrimSuffix(strings.TrimPrefix(file, "plans/"), filepath.Ext(file))
	m := numbers().FindStringSubmatch(stem)
	if m == nil || m[2]+m[3] == "" {
		return "", false
	}
	return PhaseKey(m[2] + m[3]), true
}

// pair returns the plans that have a summary. GSD's own rule matches names. Otherwise, for
// files that GSD or people named differently, it matches numbers, or a single plan with a
// summary without a number, or vice versa.
func pair(plans, summaries []string, exact bool) (done []string) {
	left := slices.Clone(summaries)
	var open []string
	for _, plan := range plans {
		names := summaryNames(plan, exact)
		ofPlan := func(s string) bool { return slices.Contains(names, s) }
		if !slices.ContainsFunc(summaries, ofPlan) {
			open = append(open, plan)
			continue
		}
		done = append(done, plan)
		left = slices.DeleteFunc(left, ofPlan)
	}
	if exact {
		return done
	}
	for _, plan := range open {
		number, ok := planNumber(plan)
		i := slices.IndexFunc(left, func(s string) bool {
			n, numbered := planNumber(s)
			return ok && numbered && n == number || len(plans) == 1 && !(ok && numbered)
		})
		if i >= 0 {
			done, left = append(done, plan), slices.Delete(left, i, i+1)
		}
	}
	return done
}

// summaryNames returns the possible names of a plan's summary.
func summaryNames(file string, exact bool) []string {
	dir, base := "", strings.TrimSuffix(file, filepath.Ext(file))
	if rest, ok := strings.CutPrefix(base, "plans/"); ok {
		dir, base = "plans/", rest
	}
	names := []string{base + "-SUMMARY"}
	if stem, ok := strings.CutSuffix(base, "-PLAN"); ok && !exact {
		names = append(names, stem+"-SUMMARY")
	}
	if at := planMark().FindStringIndex(base); at != nil {
		names = append(names, base[:at[0]]+"SUMMARY"+base[at[1]:])
	}
	if m := numberedPlan().FindStringSubmatch(base); m != nil {
		names = append(names, m[1]+"-"+m[2]+"-SUMMARY")
	}
	// 18-01-outreach-PLAN.md, 18-01-SUMMARY.md
	if m := titledPlan().FindStringSubmatch(base); m != nil {
		names = append(names, m[1]+"-SUMMARY")
	}
	for i := range names {
		names[i] = dir + names[i] + ".md"
	}
	return names
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
