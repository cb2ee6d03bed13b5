package attempt

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/workspace/git"
)

// Wants is what a task must leave behind to be done, beside a good end of its agent: an agent
// that gives up ends well, too. It is looked at by the process that saw the agent's end, before
// the attempt is judged.
type Wants struct {
	Documents []WantedFile `json:"documents,omitempty"`
	// the document whose line "Verdict: yes" or "Verdict: no, REASON" decides
	Verdict string `json:"verdict,omitempty"`
	Tag     string `json:"tag,omitempty"` // that git must have, if the verdict is yes
	// the documents have been looked at before the agent began
	Stamped bool `json:"stamped,omitempty"`
}

// A WantedFile is a document with what it was before the task's first agent began.
type WantedFile struct {
	// relative to the directory in which the agent works, with slashes
	Path string    `json:"path"`
	Hash string    `json:"hash,omitempty"` // of its content; "" for a file that wasn't there
	Time time.Time `json:"time,omitzero"`  // of its last change
}

// Want are the documents that a task is to write.
func Want(paths ...string) *Wants {
	w := &Wants{}
	for _, p := range paths {
		w.Documents = append(w.Documents, WantedFile{Path: p})
	}
	return w
}

func (w *Wants) paths() []string {
	var list []string
	for _, d := range w.Documents {
		list = append(list, d.Path)
	}
	return list
}

// StampWants remembers how the documents are before the agent begins. A later attempt at the
// same task goes on with the work of the first: what that one wrote counts.
func (s *Store) StampWants(r *Record) {
	if r.Task.Wants == nil || r.Task.Wants.Stamped {
		return
	}
	if r.ID.First != 0 && r.ID.First != r.ID.N {
		if first, err := s.Get(r.ID.Slice, r.ID.First); err == nil && first.Task.Wants != nil &&
			first.Task.Wants.Stamped {
			r.Task.Wants = first.Task.Wants
			return
		}
	}
	w := *r.Task.Wants
	w.Documents = slices.Clone(w.Documents)
	for i, d := range w.Documents {
		w.Documents[i] = readWanted(r.Job.Dir, d.Path)
	}
	w.Stamped = true
	r.Task.Wants = &w
}

// readWanted is a document as it is; only a regular file counts.
func readWanted(dir, path string) WantedFile {
	d := WantedFile{Path: path}
	f, err := openRegular(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return d
	}
	defer f.Close()
	sum := sha256.New()
	info, err := f.Stat()
	if err == nil {
		_, err = io.Copy(sum, f)
	}
	if err == nil {
		d.Hash, d.Time = hex.EncodeToString(sum.Sum(nil)[:16]), info.ModTime().UTC()
	}
	return d
}

// openRegular doesn't wait for the other end of a pipe.
func openRegular(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	return durable.Open(path)
}

// LookForWants finds out what of it is missing. It runs git, so the lock must not be held.
func LookForWants(ctx context.Context, r *Record) {
	if r.Task.Wants == nil {
		return
	}
	r.Task.Lacks, r.Task.Refused = nil, ""
	for _, d := range r.Task.Wants.Documents {
		now := readWanted(r.Job.Dir, d.Path)
		written := now.Hash != "" && now.Hash != d.Hash
		if now.Hash != "" && r.Place.Lineage == 0 && !now.Time.Equal(d.Time) {
			// git sets the times of what it checks out
			written = true
		}
		if !written {
			r.Task.Lacks = append(r.Task.Lacks, d.Path)
		}
	}
	if r.Task.Summary != "" && !r.hasSummary() {
		r.Task.Lacks = append(r.Task.Lacks, r.Task.Summary)
	}
	if len(r.Task.Lacks) > 0 {
		return
	}
	if file := r.Task.Wants.Verdict; file != "" {
		yes, reason, ok := readVerdict(filepath.Join(r.Job.Dir, filepath.FromSlash(file)))
		switch {
		case !ok:
			r.Task.Lacks = append(r.Task.Lacks,
				fmt.Sprintf("a line “Verdict: yes” or “Verdict: no, REASON” in %s", file))
			return
		case !yes:
			r.Task.Refused = reason
			return
		}
	}
	if tag := r.Task.Wants.Tag; tag != "" {
		if there, err := hasTag(ctx, r.Job.Dir, tag); err != nil {
			r.Task.Lacks = append(r.Task.Lacks, "the tag "+tag+": "+err.Error())
		} else if !there {
			r.Task.Lacks = append(r.Task.Lacks, "the tag "+tag)
		}
	}
}

func hasTag(ctx context.Context, dir, tag string) (bool, error) {
	tags, err := git.Tags(ctx, dir)
	return slices.ContainsFunc(tags, func(t git.Tag) bool { return t.Name == tag }), err
}

const longestVerdict = 300 // bytes of a reason

// readVerdict reads the first line of the document that says "Verdict: …", as text, heading or
// in bold.
func readVerdict(path string) (yes bool, reason string, ok bool) {
	f, err := openRegular(path)
	if err != nil {
		return false, "", false
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.ReplaceAll(strings.TrimLeft(lines.Text(), "#>-*_ \t\ufeff"), "*", "")
		if len(line) < len("verdict:") || !strings.EqualFold(line[:len("verdict:")], "verdict:") {
			continue
		}
		said := strings.TrimSpace(line[len("verdict:"):])
		word := strings.ToLower(said)
		if i := strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
			word = word[:i]
		}
		switch word {
		case "yes":
			return true, "", true
		case "no":
			reason = sanitize.Line(strings.TrimLeft(said[len(word):], ",:;.—– -"))
			if reason == "" {
				reason = "its agent says no, without a reason"
			}
			return false, reason[:textline.Boundary(reason, min(len(reason), longestVerdict))], true
		}
		return false, "", false
	}
	return false, "", false
}
