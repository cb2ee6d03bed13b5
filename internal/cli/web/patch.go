package web

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"greenlight/internal/cli/inbox"
	"greenlight/internal/show/view"
	"greenlight/internal/workspace/git"
)

// A patch is a diff by file, as far as it isn't too long.
type patch struct {
	Stat  view.Diff
	Files []patchFile
	Long  bool // some of it is left out
	// a person may comment on its lines: the slice waits for a decision about its work
	Comments bool
}

// A patchFile is what a diff says about one file.
type patchFile struct {
	Name  string
	Lines []patchLine // none if the diff was too long by then
	Cut   bool        // its end is left out
	hunk  bool        // its header is over
	next  int         // the number of the next line
}

// A patchLine is a line of a diff with its kind: "add", "del", "hunk", or "" for context. N is its
// number in the file as it is now; 0 for none.
type patchLine struct {
	Kind, Text string
	N          int
}

// Limits of a diff on a page, which has to open at once on a phone.
const (
	mostPatch     = 4 << 20 // bytes read from git
	mostPatchShow = 4000    // lines
)

// readPatch reads a diff.
func readPatch(ctx context.Context, in *inbox.Reader, from, to string, paths []string) *patch {
	var b bounded
	p := &patch{}
	// git ends with an error when nothing more is read
	err := in.Patch(ctx, from, to, git.DiffOptions{Paths: paths}, &b)
	p.Long = err != nil || b.cut
	p.read(b.kept.String())
	return p
}

// read reads what git writes.
func (p *patch) read(text string) {
	shown, at := 0, (*patchFile)(nil)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if names, ok := strings.CutPrefix(line, "diff --git "); ok {
			p.Files = append(p.Files, patchFile{Name: names})
			at = &p.Files[len(p.Files)-1]
			at.nameOf(firstName(names), "a/")
			continue
		}
		if at == nil {
			continue
		}
		if shown++; shown > mostPatchShow {
			at.Cut, p.Long = true, true
			continue
		}
		at.add(line)
	}
}

// add adds a line of a diff to its file. The file's header has nothing that says anything to a
// person but its name, modes, and that it is binary.
func (f *patchFile) add(line string) {
	kind := kindOf(line)
	switch {
	case kind == "hunk": // @@ -1,2 +3,4 @@
		f.hunk = true
		_, after, _ := strings.Cut(line, "+")
		f.next = 0
		_, _ = fmt.Sscanf(after, "%d", &f.next)
	case f.hunk:
	case strings.HasPrefix(line, "--- "):
		f.nameOf(line[4:], "a/")
		return
	case strings.HasPrefix(line, "+++ "):
		f.nameOf(line[4:], "b/") // as it is now
		return
	case strings.HasPrefix(line, "index "):
		return
	}
	l := patchLine{Kind: kind, Text: line}
	if f.next > 0 && (kind == "add" || strings.HasPrefix(line, " ")) {
		l.N = f.next
		f.next++
	}
	f.Lines = append(f.Lines, l)
}

// nameOf takes the file's name from its header. git quotes unusual names, and ends those with
// spaces in a tab. There is no name for a file that isn't there, /dev/null.
func (f *patchFile) nameOf(text, prefix string) {
	text = strings.TrimSuffix(text, "\t")
	if name, err := strconv.Unquote(text); err == nil {
		text = name
	}
	if name, ok := strings.CutPrefix(text, prefix); ok {
		f.Name = name
	}
}

// firstName returns the first of the two names of "diff --git": of a file without lines, which has
// no other header, both are the same.
func firstName(names string) string {
	if quoted, err := strconv.QuotedPrefix(names); err == nil {
		return quoted
	}
	return names[:len(names)/2]
}

// kindOf returns the kind of a diff's line, as it is in a hunk.
func kindOf(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"):
		return "hunk"
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	}
	return ""
}

// A bounded keeps the beginning of what is written to it.
type bounded struct {
	kept bytes.Buffer
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := mostPatch - b.kept.Len(); len(p) > room {
		b.cut = true
		_, _ = b.kept.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.kept.Write(p)
}
