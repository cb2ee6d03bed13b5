package gsd

import (
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/core/plan"
)

// With --compat, phases and plans are counted as GSD's own tools count them. Those tools don't
// parse ROADMAP.md: they cut the current milestone out of its text and search the result for
// phases. This often differs from what the roadmap means, so this reading is separate from
// parseRoadmap and supplies only the counts and the percent.

var compatPatterns = sync.OnceValue(func() (p struct {
	stored, ongoing, named, heading, version             *regexp.Regexp // identify the milestone
	title, phaseTitle, marker, open, token, details      *regexp.Regexp // delimit its section
	first, firstFolded, fold, unfold, begun, end, titled *regexp.Regexp // match the text before it
	counted, owned, phase, bullet, icebox                *regexp.Regexp // match its phases
	item, struck, dropped                                *regexp.Regexp // match dropped phases
	code, lower, hyphened, number, suffix, word, letters *regexp.Regexp // parse phase ids
}) {
	const id = `Phase\s+(\w[\w.-]*)(?:\s*\([^)\n]{0,200}\))?`
	p.stored = regexp.MustCompile(`(?m)^milestone:\s*(.+)`)
	p.ongoing = regexp.MustCompile(`(?:🚧|🔄)\s*\*\*v(\d+\.\d+)\s`)
	p.named = regexp.MustCompile(`🚧\s*\*\*v(\d+(?:\.\d+)+)\s+[^*]+\*\*`)
	p.heading = regexp.MustCompile(`## (.*v(\d+(?:\.\d+)+)[:\s]+[^\n(])`)
	p.version = regexp.MustCompile(`v\d+(?:\.\d+)+`)

	p.title = regexp.MustCompile(`(?m)^#{2,3}\s`)
	p.phaseTitle = regexp.MustCompile(`(?i)^#{1,3}\sPhase\s+\S`)
	p.marker = regexp.MustCompile(`(?i)v\d+\.\d+|✅|📋|🚧`)
	p.first = regexp.MustCompile(`(?im)^#{1,3}\s+(?:.*v\d+\.\d+|✅|📋|🚧)`)
	p.firstFolded = regexp.MustCompile(`(?im)^#{1,3}\s+(?:.*v\d+\.\d+|✅|📋|🚧|🔄)|<details`)
	p.open = regexp.MustCompile(`(?i)\b(?:started|active|wip)\b|in\s+progress|🚧|🔄`)
	p.token = regexp.MustCompile(`(?i)v\d+(?:\.\d+)+(?:[-.][A-Z0-9]+)*`)
	p.details = regexp.MustCompile(`(?i)\(Phase\s+Details\)`)
	p.fold = regexp.MustCompile(`(?i)<(/?)details>`)
	p.unfold = regexp.MustCompile(`(?i)</details>`)
	p.begun = regexp.MustCompile(`(?im)^#{2,4}\s*` + id + `\s*:[^\n]*`)
	p.end = regexp.MustCompile(`\n#{1,6}\s`)
	p.titled = regexp.MustCompile(`(?im)^#{1,4}\s*Phase Details\b[^\n]*\n?`)

	p.counted = regexp.MustCompile(`(?i)#{2,4}\s*` + id + `\s*:`)
	p.owned = regexp.MustCompile(`(?im)^#{2,4}\s*Phase\s+\S`)
	p.phase = regexp.MustCompile(`(?i)^(?:\[[^\]]{1,200}\]\s*)?` + id + `\s*:`)
	p.bullet = regexp.MustCompile(`(?i)^\s*[-*]\s+(?:\[[ x]\]\s+)?\*\*` + id +
		`\s*[—–:-]\s*.+?\*\*`)
	p.icebox = regexp.MustCompile(`^999\b`)
	p.item = regexp.MustCompile(`^\s*(?:[-*+]\s*\[[ xX]\]|#{1,6}\s)`)
	p.struck = regexp.MustCompile(`~~([^~]*)~~`)
	p.dropped = regexp.MustCompile(`(?i)^[\s*_]*Phase\s+(\w[\w.-]*)`)

	p.code = regexp.MustCompile(`(?i)^[A-Z][A-Z0-9_]*-(\d.*)`)
	p.lower = regexp.MustCompile(`[a-z]`)
	p.hyphened = regexp.MustCompile(`^\d+(?:-\d+)+[a-z]?(?:\.\d+)*$`)
	p.number = regexp.MustCompile(`^\d+[A-Za-z]?(?:\.\d+)*`)
	p.suffix = regexp.MustCompile(`^[A-Za-z]?(?:\.\d+)*`)
	p.word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*`)
	p.letters = regexp.MustCompile(`^[A-Za-z]{1,3}\d`)
	return p
})

// countAsGSD replaces the counts by those of GSD's own tools.
// It follows their reading of the roadmap rule by rule, errors included. It shares nothing with
// parseRoadmap, whose rules are about what a roadmap means.
func (f *Facts) countAsGSD(phases, roadmap, state string) {
	f.Counts, f.Unknown, f.Untold = Counts{}, false, 0
	// as Node reads files; and a pattern, which is made of a version in them, has to be valid
	roadmap = strings.ToValidUTF8(roadmap, string(utf8.RuneError))
	state = strings.ToValidUTF8(state, string(utf8.RuneError))
	r := compatRoadmap{text: roadmap}
	if m := compatPatterns().stored.FindStringSubmatch(state); m != nil {
		r.version = strings.TrimSpace(m[1])
	}
	window := r.window()
	dropped := droppedPhases(window)
	f.Dirs = compatDirs(phases, inWindow(window), dropped)
	for i := range f.Dirs {
		d := &f.Dirs[i]
		f.TotalPlans += d.Plans
		f.CompletedPlans += d.Summaries
		if d.Complete() {
			f.CompletedPhases++
		}
	}
	f.TotalPhases = len(f.Dirs)
	f.Unbounded = f.HasRoadmap && len(r.titles(r.milestone())) == 0
	if n := countPhases(window, dropped); !f.Unbounded || !r.sectioned() {
		f.TotalPhases = max(f.TotalPhases, n)
	}
}

// compatDirs returns the directories that count: if a phase has two, the one changed last.
func compatDirs(root string, in func(name string) bool, dropped map[string]bool) []PhaseDir {
	list, _ := durable.ReadDir(root)
	var names []string
	for _, d := range list {
		if d.IsDir() && in(d.Name()) && !reserved(d.Name()) &&
			!dropped[compatKey(compatToken(d.Name()))] {
			names = append(names, d.Name())
		}
	}
	sort.SliceStable(names, func(i, j int) bool { return plan.NaturalLess(names[i], names[j]) })
	at := map[string]int{}
	var dirs []PhaseDir
	for _, name := range names {
		key := unpadded(compatPatterns().number.FindString(name))
		if key == "" {
			key = name
		}
		path := filepath.Join(root, name)
		i, twice := at[key]
		switch {
		case !twice:
			at[key] = len(dirs)
			dirs = append(dirs, scanPhase(path, name, dirKey(name), true))
		case newer(path, filepath.Join(root, dirs[i].Name)):
			dirs[i] = scanPhase(path, name, dirKey(name), true)
		}
	}
	return dirs
}

func newer(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && first.ModTime().After(second.ModTime())
}

// A compatRoadmap is the text of ROADMAP.md.
type compatRoadmap struct {
	text    string
	version string // the milestone in STATE.md; "" for none
}

// milestone returns the version that the counts are attributed to.
func (r compatRoadmap) milestone() string {
	p := compatPatterns()
	if r.version != "" {
		return r.version
	}
	if m := p.named.FindStringSubmatch(r.text); m != nil {
		return "v" + m[1]
	}
	text := withoutFolds(r.text)
	for _, m := range p.heading.FindAllStringSubmatchIndex(text, -1) {
		line, _, _ := strings.Cut(text[m[2]:], "\n")
		if !strings.Contains(line, "✅") {
			return "v" + text[m[4]:m[5]]
		}
	}
	if v := p.version.FindString(text); v != "" {
		return v
	}
	return "v1.0"
}

// titles returns the spans of headings that contain a version, other than phase headings. A
// heading with v1.1.2 also contains v1.1.
func (r compatRoadmap) titles(version string) [][]int {
	title := regexp.MustCompile(`(?im)^#{1,3}\s+.*` + regexp.QuoteMeta(version) + `\b[^\n]*`)
	return slices.DeleteFunc(title.FindAllStringIndex(r.text, -1), func(at []int) bool {
		return phaseTitleAt(r.text, at[0])
	})
}

func phaseTitleAt(text string, at int) bool {
	return compatPatterns().phaseTitle.MatchString(text[at:])
}

// firstOf returns the first match of the pattern that isn't a phase heading; -1 for none.
func firstOf(pattern *regexp.Regexp, text string) int {
	for _, at := range pattern.FindAllStringIndex(text, -1) {
		if !phaseTitleAt(text, at[0]) {
			return at[0]
		}
	}
	return -1
}

// sectioned reports whether the roadmap has any headings other than those of phases.
func (r compatRoadmap) sectioned() bool { return firstOf(compatPatterns().title, r.text) >= 0 }

// window returns the text of the current milestone: the text before all milestones, its
// section, and its section of phase details.
func (r compatRoadmap) window() string {
	p := compatPatterns()
	version := r.version
	if version == "" {
		m := p.ongoing.FindStringSubmatch(r.text)
		if m == nil {
			return withoutFolds(r.text)
		}
		version = "v" + m[1]
	}
	titles := r.titles(version)
	if len(titles) == 0 {
		return r.folded(version)
	}
	selected := titles[max(0,
		slices.IndexFunc(titles, func(at []int) bool { return !r.closed(at) }))]
	end := r.sectionEnd(selected)
	section := r.text[selected[0]:end]
	cut := firstOf(p.first, r.text)
	if cut < 0 {
		cut = titles[0][0]
	}
	before := withoutFolds(r.text[:cut])
	if p.owned.MatchString(section) {
		before = withoutPhases(before)
	}
	return p.titled.ReplaceAllString(before, "") + section + r.details(titles, selected, end)
}

// compatLines returns the lines of a text. Unlike in markdown.Lines, a fence that is never
// closed extends to the end.
func compatLines(text string) iter.Seq[markdown.Line] {
	return markdown.Lines(text + "\n" + strings.Repeat("`", 80) + "\n" +
		strings.Repeat("~", 80) + "\n")
}

// closed reports whether a milestone's heading marks it as finished.
func (r compatRoadmap) closed(title []int) bool {
	text := r.text[title[0]:title[1]]
	return roadmapPatterns().shipped.MatchString(text) && !compatPatterns().open.MatchString(text)
}

// sectionEnd returns the end of a heading's section: the next heading of at most its level that
// is marked as a milestone.
func (r compatRoadmap) sectionEnd(title []int) int {
	text := r.text[title[0]:title[1]]
	level := len(text) - len(strings.TrimLeft(text, "#"))
	for l := range compatLines(r.text) {
		if l.Start >= title[1] && l.Level > 0 && l.Level <= level &&
			!phaseTitleAt("# "+l.Title, 0) &&
			compatPatterns().marker.MatchString(l.Title) {
			return l.Start
		}
	}
	return len(r.text)
}

// details returns the later section with the details of the selected milestone's phases: `##
// v1.1 New (Phase Details)`.
func (r compatRoadmap) details(titles [][]int, selected []int, after int) string {
	p := compatPatterns()
	token := p.token.FindString(r.text[selected[0]:selected[1]])
	for _, at := range titles {
		title := r.text[at[0]:at[1]]
		if at[0] >= after && p.details.MatchString(title) && !r.closed(at) &&
			(token == "" || namesExactly(title, token)) {
			return "\n" + r.text[at[0]:r.sectionEnd(at)]
		}
	}
	return ""
}

// namesExactly reports whether a heading contains this version, and not just as part of a
// longer one.
func namesExactly(title, version string) bool {
	return regexp.MustCompile(`(?i)` + regexp.QuoteMeta(version) +
		`(?:[^\w.-]|$)`).MatchString(title)
}

// folded returns the text of a milestone that no heading names: the <details> block whose
// summary names it, or else everything outside such blocks.
func (r compatRoadmap) folded(version string) string {
	p := compatPatterns()
	summary := regexp.MustCompile(`(?i)<summary[^>]*>[^<]*` + regexp.QuoteMeta(version) +
		`[^<]*</summary>`).FindStringIndex(r.text)
	open := -1
	if summary != nil {
		open = strings.LastIndex(r.text[:summary[0]], "<details")
	}
	if open < 0 {
		return withoutFolds(r.text)
	}
	block := r.text[open:]
	if at := p.unfold.FindStringIndex(block); at != nil {
		block = block[:at[1]]
	}
	cut := firstOf(p.firstFolded, r.text)
	if cut < 0 {
		cut = open
	}
	before := withoutPhases(withoutFolds(r.text[:cut]))
	return p.titled.ReplaceAllString(before, "") + block
}

// withoutFolds returns the text without its <details> blocks; of nested ones, only the inner
// block is removed.
func withoutFolds(text string) string {
	var b strings.Builder
	done, open := 0, -1
	for _, at := range compatPatterns().fold.FindAllStringSubmatchIndex(text, -1) {
		switch {
		case at[2] == at[3]:
			open = at[0]
		case open >= 0:
			b.WriteString(text[done:open])
			done, open = at[1], -1
		}
	}
	b.WriteString(text[done:])
	return b.String()
}

// withoutPhases returns the text without the sections of phases.
func withoutPhases(text string) string {
	var b strings.Builder
	for {
		at := compatPatterns().begun.FindStringIndex(text)
		if at == nil {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at[0]])
		text = text[at[1]:]
		next := compatPatterns().end.FindStringIndex(text)
		if next == nil {
			return b.String()
		}
		text = text[next[0]+1:]
	}
}

// countPhases counts the phase headings.
func countPhases(window string, dropped map[string]bool) int {
	n := 0
	for _, m := range compatPatterns().counted.FindAllStringSubmatch(window, -1) {
		if strings.ContainsAny(m[1], "0123456789") && !reserved(m[1]) && !dropped[compatKey(m[1])] {
			n++
		}
	}
	return n
}

// droppedPhases returns the keys of phases that are struck through in a heading or a checklist.
func droppedPhases(window string) map[string]bool {
	p := compatPatterns()
	dropped := map[string]bool{}
	for line := range strings.Lines(window) {
		if !p.item.MatchString(line) {
			continue
		}
		for _, span := range p.struck.FindAllStringSubmatch(line, -1) {
			if m := p.dropped.FindStringSubmatch(span[1]); m != nil &&
				strings.ContainsAny(m[1], "0123456789") {
				dropped[compatKey(m[1])] = true
			}
		}
	}
	return dropped
}

// inWindow returns a function that reports whether a directory belongs to a phase of the
// window. If the window has no phases, all directories do.
func inWindow(window string) func(name string) bool {
	p := compatPatterns()
	in, hyphens := map[string]bool{}, false
	for l := range compatLines(window) {
		var m []string
		switch {
		case l.Code:
		case l.Level >= 2 && l.Level <= 4:
			m = p.phase.FindStringSubmatch(l.Title)
		case l.Level == 0:
			m = p.bullet.FindStringSubmatch(l.Text)
		}
		if m != nil && !p.icebox.MatchString(m[1]) {
			id := unpadded(m[1])
			in[id], hyphens = true, hyphens || strings.Contains(id, "-")
		}
	}
	return func(name string) bool {
		if len(in) == 0 {
			return true
		}
		ids := []string{leadingID(name, hyphens), unpadded(compatToken(name))}
		if m := p.code.FindStringSubmatch(name); m != nil {
			ids = append(ids, leadingID(m[1], hyphens))
		}
		return in[strings.ToLower(p.word.FindString(name))] ||
			slices.ContainsFunc(ids, func(id string) bool {
				return in[id]
			})
	}
}

// leadingID returns the id at the start of a directory's name. If the roadmap has ids such as
// 2-01, two digits after a hyphen are part of the id.
func leadingID(name string, hyphens bool) string {
	if !hyphens {
		return unpadded(compatPatterns().number.FindString(name))
	}
	n := len(digits(name))
	for n > 0 && n < len(name) && name[n] == '-' && len(digits(name[n+1:])) == 2 {
		n += 3
	}
	if n == 0 {
		return ""
	}
	return unpadded(name[:n] + compatPatterns().suffix.FindString(name[n:]))
}

// compatToken returns the part of a directory's name that GSD takes for its phase, or the whole
// name if there is none.
func compatToken(name string) string {
	p := compatPatterns()
	rest := name
	if m := p.code.FindStringSubmatch(name); m != nil {
		rest = m[1]
	}
	segments := strings.Split(rest, "-")
	letters := p.letters.MatchString(segments[0])
	if !letters && digits(segments[0]) == "" {
		return name
	}
	n := 1
	for n < len(segments) &&
		(len(digits(segments[n])) == 2 || letters && digits(segments[n]) != "") {
		n++
	}
	return name[:len(name)-len(rest)] + strings.Join(segments[:n], "-")
}

// compatKey returns a key shared by all spellings of a token.
func compatKey(token string) string {
	p := compatPatterns()
	if m := p.code.FindStringSubmatch(token); m != nil &&
		!p.lower.MatchString(token[:len(token)-len(m[1])]) {
		token = m[1]
	}
	id := unpadded(token)
	if n := p.number.FindString(id); n != "" && !p.hyphened.MatchString(id) {
		return n
	}
	return id
}

// unpadded returns an id in lower case, with leading zeros removed from each part.
func unpadded(id string) string {
	if id == "" {
		return ""
	}
	parts := strings.Split(strings.ToLower(id), "-")
	for i, s := range parts {
		short := strings.TrimLeft(s, "0")
		if short != s && (short == "" || !isDigit(short[0])) || s == "" {
			short = "0" + short
		}
		parts[i] = short
	}
	return strings.Join(parts, "-")
}

// reserved reports whether an id or a directory's name belongs to the backlog: 0 and 999, with
// any suffix.
func reserved(id string) bool {
	if m := compatPatterns().code.FindStringSubmatch(id); m != nil {
		id = m[1]
	}
	n := digits(id)
	short := strings.TrimLeft(n, "0")
	return n != "" && (short == "" || short == "999")
}
