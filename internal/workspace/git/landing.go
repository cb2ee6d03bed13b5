package git

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// A Trailer is a line at the end of a commit's message: "Slice: S-3".
type Trailer struct{ Key, Value string }

// LandingMessage returns the message of a commit: the title as its one line, and trailers. Title
// and values can't add trailers: each is one line, and the title's paragraph has none.
func LandingMessage(title string, trailers ...Trailer) string {
	if title = oneLine(title); title == "" {
		title = "Land"
	}
	var b strings.Builder
	b.WriteString(title + "\n\n")
	for _, t := range trailers {
		if value := oneLine(t.Value); value != "" {
			b.WriteString(t.Key + ": " + value + "\n")
		}
	}
	return b.String()
}

// oneLine returns a text with a blank for each character that breaks a line, is invisible, or
// reorders others.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' ||
			r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// A Landed is a commit of a branch by which a slice landed.
type Landed struct {
	Commit                   string
	Parents                  []string
	Tree                     string
	When                     time.Time // the committer's
	Subject                  string
	Slice, Attempt, Verified string
	Project                  string // where in the repository, "" for its top
	// Batch is "2 of 3" if it was tested with others, as the last of them; "" for by itself.
	Batch string
}

// Landings lists the first-parent commits of to that from doesn't contain and that name a slice,
// the oldest first. from may be "", for all. A commit that names more than one isn't gl's.
func Landings(ctx context.Context, common, from, to string) ([]Landed, error) {
	commits, err := logged(ctx, common, from, to, "%H", "%P", "%T", "%ct", "%s",
		trailed("Slice"), trailed("Attempt"), trailed("Verified"), trailed("Project"),
		trailed("Batch"))
	if err != nil {
		return nil, err
	}
	var list []Landed
	for _, f := range commits {
		if f[5] == "" || strings.Contains(f[5], "\x1e") {
			continue
		}
		var seconds int64
		if _, err := fmt.Sscan(f[3], &seconds); err != nil {
			return nil, fmt.Errorf("git log says %.200q", f)
		}
		list = append(list, Landed{Commit: f[0], Parents: strings.Fields(f[1]), Tree: f[2],
			When: time.Unix(seconds, 0), Subject: f[4],
			Slice: f[5], Attempt: last(f[6]), Verified: last(f[7]), Project: last(f[8]),
			Batch: last(f[9])})
	}
	return list, nil
}

// A TakenBack is a commit of a branch that takes back a landed slice.
type TakenBack struct {
	Commit, Slice string
	Reverts       string // the commit by which it landed
	Project       string // as Landed's
}

// AllTakenBack lists the first-parent commits of to that from doesn't contain and that take a slice
// back, the oldest first.
func AllTakenBack(ctx context.Context, common, from, to string) ([]TakenBack, error) {
	commits, err := logged(ctx, common, from, to, "%H", trailed("Undone"), trailed("Reverts"),
		trailed("Project"))
	var list []TakenBack
	for _, f := range commits {
		if f[1] != "" && !strings.Contains(f[1]+f[2], "\x1e") {
			list = append(list, TakenBack{Commit: f[0], Slice: f[1], Reverts: f[2],
				Project: last(f[3])})
		}
	}
	return list, err
}

// trailed returns git log's format for the values of a trailer, between record separators.
func trailed(key string) string {
	return "%(trailers:key=" + key + ",valueonly,unfold,separator=%x1e)"
}

// last returns the last of a trailer's values.
func last(s string) string { return s[strings.LastIndexByte(s, '\x1e')+1:] }

// logged returns git log's output, in the formats, for each of the first-parent commits of to that
// from doesn't contain, the oldest first.
func logged(ctx context.Context, common, from, to string, formats ...string) ([][]string, error) {
	args := append(settings("trailer.separators=:"), "log", "-z", "--first-parent", "--reverse",
		"--no-show-signature", "--no-color", "--no-notes",
		"--encoding=UTF-8", "--format="+strings.Join(formats, "%x1f"), to)
	if from != "" {
		args = append(args, "^"+from)
	}
	out, err := at(ctx, common, long, "", append(args, "--")...)
	if err != nil {
		return nil, err
	}
	var list [][]string
	for _, line := range split(out) {
		f := strings.Split(line, "\x1f")
		if len(f) != len(formats) {
			return nil, fmt.Errorf("git log says %.200q", line)
		}
		list = append(list, f)
	}
	return list, nil
}
