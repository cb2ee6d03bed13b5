package proc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// statLine returns a line of /proc/PID/stat according to proc_pid_stat(5), with the relevant
// fields.
func statLine(name, state string, group, threads int, start string) string {
	return fmt.Sprintf("4711 (%s) %s 1 %d 4711 0 -1 4194560 90 0 0 0 0 0 0 0 20 0 %d 0 %s 2400256 320 184467 1 1 0\n",
		name, state, group, threads, start)
}

func TestParseStat(t *testing.T) {
	tests := []struct {
		line   string
		want   glimpse
		group  int
		broken bool
	}{
		{line: statLine("sh", "S", 4711, 1, "987"), want: glimpse{start: "987"}, group: 4711},
		{line: statLine("a) Z 1 (b", "R", 12, 1, "987"), want: glimpse{start: "987"}, group: 12},
		{line: statLine("sh", "Z", 4711, 1, "987"),
			want: glimpse{start: "987", zombie: true}, group: 4711},
		{line: statLine("sh", "X", 4711, 1, "987"),
			want: glimpse{start: "987", zombie: true}, group: 4711},
		{line: statLine("main thread ended", "Z", 4711, 5, "987"),
			want: glimpse{start: "987"}, group: 4711},
		{line: statLine("stopped", "T", 0, 1, "987"), want: glimpse{start: "987"}},
		{line: "", broken: true},
		{line: "4711 (sh) S 1 4711", broken: true},
		{line: strings.Replace(statLine("sh", "S", 77, 1, "987"), "77", "x", 1), broken: true},
	}
	for _, tt := range tests {
		got, err := parseStat(tt.line)
		if (err != nil) != tt.broken || got.glimpse != tt.want || got.group != tt.group {
			t.Errorf("%q: %+v, error %v", tt.line, got, err)
		}
	}
}

func TestParseStatWhateverTheName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		group := rapid.IntRange(0, 1<<22).Draw(t, "group")
		ticks := fmt.Sprint(rapid.Uint64().Draw(t, "start"))
		got, err := parseStat(statLine(name, "S", group, 3, ticks))
		if want := (entry{glimpse: glimpse{start: ticks}, parent: 1, group: group, session: 4711,
			name: name}); err != nil || got != want {
			t.Fatalf("%+v, want %+v, error %v", got, want, err)
		}
	})
}

func TestParsePS(t *testing.T) {
	tests := []struct {
		line   string
		want   glimpse
		broken bool
	}{
		{line: "Ss+  Mon Jan  5 10:00:00 2026    \n", want: glimpse{start: "Mon Jan 5 10:00:00 2026"}},
		{line: "Z    Mon Jan 15 10:00:00 2026\n", want: glimpse{start: "Mon Jan 15 10:00:00 2026", zombie: true}},
		{line: "Z    -\n", want: glimpse{zombie: true}},
		{line: "", broken: true},
		{line: "S    -\n", broken: true},
	}
	for _, tt := range tests {
		got, err := parsePS(tt.line)
		if (err != nil) != tt.broken || got != tt.want {
			t.Errorf("%q: %+v, error %v", tt.line, got, err)
		}
	}
}

func TestParseGroups(t *testing.T) {
	const table = "    1 Ss\n   70 Z\n  700 S+\n   70 Z+\n    8 R\n    8 Z\n\nnonsense\n"
	for group, want := range map[int]bool{1: true, 70: false, 700: true, 8: true, 9: false} {
		if got := parseGroups(table, group); got != want {
			t.Errorf("group %d lives: %v, want %v", group, got, want)
		}
	}
}

func TestParseTable(t *testing.T) {
	const table = "    1     0     1 Ss   Mon Jan  5 10:00:00 2026     /sbin/launchd\n" +
		"  700     1   690 S+   Mon Jan 15 10:00:00 2026     /Applications/A b.app/x\n   71   700    71 Z    -   (sh)\n\nx 1 1 S\nnonsense\n"
	want := []entry{
		{glimpse{start: "Mon Jan 5 10:00:00 2026"}, 1, 0, 1, 1, "launchd"},
		{glimpse{start: "Mon Jan 15 10:00:00 2026"}, 700, 1, 690, 690, "A"},
		{glimpse{zombie: true}, 71, 700, 71, 71, ""},
	}
	if got := parseTable(table); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("")
	f.Add(")")
	f.Add(statLine("sh", "S", 4711, 1, "987"))
	f.Add(statLine("a) Z 1 (b", "Z", -1, 2, "18446744073709551615"))
	f.Add("1 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1")
	f.Fuzz(func(t *testing.T, line string) {
		if g, err := parseStat(line); err == nil &&
			(g.start == "" || strings.ContainsAny(g.start, " \t\n")) {
			t.Errorf("%q started %q", line, g.start)
		}
	})
}

func FuzzParsePS(f *testing.F) {
	f.Add("")
	f.Add("Ss+  Mon Jan  5 10:00:00 2026\n")
	f.Add("Z -\n")
	f.Fuzz(func(t *testing.T, line string) {
		if g, err := parsePS(line); err == nil && !g.zombie && g.start == "" {
			t.Errorf("%q lives and never started", line)
		}
		parseGroups(line, 1)
		parseTable(line)
	})
}

func TestParseCarriers(t *testing.T) {
	const list = "  1 /sbin/launchd\n 20 sh -c run GL_SESSION=a b HOME=/Users/x\n 21 sh GL_SESSION=ab\n\n x GL_SESSION=a\n 22 gl GL_SESSION=a\n"
	got := parseCarriers(list, []string{"GL_SESSION=a", "GL_TESTS=1"}, []entry{{pid: 1}, {pid: 20}, {pid: 21}})
	if len(got) != 1 || !got[20] {
		t.Errorf("got %v, want 20: 22 wasn't asked for, and 21 has another value", got)
	}
}
