package attempt

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/keys.txt")

// Older and newer versions of gl read and write the same records in one night. So the keys of a
// record and their types stay: testdata/keys.txt has those of 2f0f9e9 and all that came since. A
// new key is added there (go test -run TestDocumentKeys -update); none of them changes or goes.
func TestDocumentKeys(t *testing.T) {
	got := strings.Join(documentKeys("", reflect.TypeFor[document]()), "\n") + "\n"
	const file = "testdata/keys.txt"
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the keys of a record (-frozen +now):\n%s", diff)
	}
}

// documentKeys lists the JSON keys below a struct in alphabetical order, each with its Go type:
// "landing.batch.head string".
func documentKeys(prefix string, typ reflect.Type) (keys []string) {
	packages := regexp.MustCompile(`\b[a-z]+\.`)
	for _, f := range reflect.VisibleFields(typ) {
		tag, tagged := f.Tag.Lookup("json")
		switch name, _, _ := strings.Cut(tag, ","); {
		case f.Anonymous && !tagged, tag == "-":
			continue
		case !f.IsExported(), name == "":
			keys = append(keys, prefix+f.Name+" has no key")
		default:
			keys = append(keys, prefix+name+" "+packages.ReplaceAllString(f.Type.String(), ""))
			below := f.Type
			for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
				below = below.Elem()
			}
			if below.Kind() == reflect.Struct && below != reflect.TypeFor[time.Time]() {
				keys = append(keys, documentKeys(prefix+name+".", below)...)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// outcomesOf2f0f9e9 are the outcomes that gl of 2f0f9e9 had. The list is frozen with its records.
var outcomesOf2f0f9e9 = []string{"advanced", "conflict", "crashed", "done", "empty", "failed", "held", "hung", "interrupted", "red",
	"stalled", "waiting"}

// The records that gl of 2f0f9e9 wrote are read, and written with nothing lost. Keys that came
// since are empty.
func TestRecordsOf2f0f9e9(t *testing.T) {
	const dir = "testdata/2f0f9e9"
	s := OpenStore(dir)
	live, bad, err := s.Live()
	must(t, err)
	if len(live) != 5 || len(bad) > 0 {
		t.Fatalf("%d live records, bad: %v", len(live), bad)
	}
	for _, r := range live {
		compareDocuments(t, s.Files.livePath(r.ID.Slice, r.ID.N), r)
	}
	settled, err := s.Files.settledEntries()
	must(t, err)
	var outcomes []string
	for _, e := range settled {
		if strings.HasPrefix(e.Slice, "D-") { // one for each outcome
			outcomes = append(outcomes, string(e.Outcome))
		}
	}
	slices.Sort(outcomes)
	if diff := cmp.Diff(outcomesOf2f0f9e9, outcomes); diff != "" || len(settled) != len(outcomes)+4 {
		t.Fatalf("%s/done has %d records, and not these outcomes and 4 more records (-frozen +there). The files are as gl wrote them "+
			"then: restore them (git checkout %[1]s). A newer outcome gets no file here:\n%[3]s", dir, len(settled), diff)
	}
	for _, e := range settled {
		r, err := s.Settled(e)
		must(t, err)
		compareDocuments(t, s.Files.donePath(e.Slice, e.N, e.Outcome), r)
	}
	path := filepath.Join(dir, "note.json") // as in refs/gl/landing
	data, err := os.ReadFile(path)
	must(t, err)
	r := new(Record)
	must(t, json.Unmarshal(data, r))
	compareDocuments(t, path, r)
}

// compareDocuments compares a record with the file that it is from, as a pointer and as a value.
func compareDocuments(t *testing.T, path string, r *Record) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	var want map[string]any
	must(t, json.Unmarshal(data, &want))
	for _, v := range []any{r, *r} {
		data, err := json.Marshal(v)
		must(t, err)
		var got map[string]any
		must(t, json.Unmarshal(data, &got))
		dropEmpty(got, want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-read +written):\n%s", path, diff)
		}
	}
}

// dropEmpty removes the keys without a value that known lacks.
func dropEmpty(doc, known map[string]any) {
	for key, value := range doc {
		was, ok := known[key]
		if !ok && (value == nil || reflect.ValueOf(value).IsZero()) {
			delete(doc, key)
		}
		below, isMap := value.(map[string]any)
		if knownBelow, also := was.(map[string]any); isMap && also {
			dropEmpty(below, knownBelow)
		}
	}
}
