package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// gitWrote is what git 2.39 writes about files with unusual names and lines.
const gitWrote = `diff --git a/a.sql b/a.sql
index 19856a1..a9270ea 100644
--- a/a.sql
+++ b/a.sql
@@ -1,3 +1,4 @@
 one
--- two
+++ zwei
 three
+four
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git a/gone b/gone
deleted file mode 100644
index d914525..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
--- x
diff --git "a/mit \303\251 und b/c.txt" "b/mit \303\251 und b/c.txt"
new file mode 100644
index 0000000..cd28135
--- /dev/null
+++ "b/mit \303\251 und b/c.txt"	
@@ -0,0 +1 @@
+@@ hello
diff --git a/with space b/with space
new file mode 100644
index 0000000..b478595
--- /dev/null
+++ b/with space	
@@ -0,0 +1 @@
+s
`

// All of it is shown, with the numbers of the lines: a name or a line that looks like a header
// hides nothing.
func TestPatch(t *testing.T) {
	got := &patch{}
	got.read(gitWrote)
	added := patchLine{"", "new file mode 100644", 0}
	want := []patchFile{
		{Name: "a.sql", Lines: []patchLine{{"hunk", "@@ -1,3 +1,4 @@", 0}, {"", " one", 1},
			{"del", "--- two", 0}, {"add", "+++ zwei", 2}, {"", " three", 3}, {"add", "+four", 4}}},
		{Name: "empty", Lines: []patchLine{added}},
		{Name: "gone", Lines: []patchLine{{"", "deleted file mode 100644", 0}, {"hunk", "@@ -1 +0,0 @@", 0},
			{"del", "--- x", 0}}},
		{Name: "mit \u00e9 und b/c.txt", Lines: []patchLine{added, {"hunk", "@@ -0,0 +1 @@", 0}, {"add", "+@@ hello", 1}}},
		{Name: "with space", Lines: []patchLine{added, {"hunk", "@@ -0,0 +1 @@", 0}, {"add", "+s", 1}}},
	}
	if d := cmp.Diff(want, got.Files, cmpopts.IgnoreUnexported(patchFile{})); d != "" {
		t.Error(d)
	}
}

// A diff has whatever an agent wrote, in its names and lines.
func FuzzPatch(f *testing.F) {
	f.Add(gitWrote)
	f.Add("diff --git \"a/x\\\" b/y\ndiff --git\n@@ -1,99999999999999999999 +1 @@\n+\n")
	f.Add("diff --git a/x b/x\n@@ -0,0 +1,-5 @@ x\n\\ No newline at end of file\n-\n+++ b/\n--- \"a/\\377\n")
	f.Fuzz(func(t *testing.T, text string) {
		var p patch
		p.read(text)
		shown := 0
		for _, file := range p.Files {
			shown += len(file.Lines)
			for _, l := range file.Lines {
				if l.N < 0 {
					t.Fatalf("line %d of %q", l.N, text)
				}
			}
		}
		if shown > mostPatchShow {
			t.Fatalf("%d lines", shown)
		}
	})
}
