package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/debugreport"
	"greenlight/internal/cli/doctor"
	"greenlight/internal/cli/gsd"
	"greenlight/internal/cli/inbox"
	"greenlight/internal/cli/sw"
	"greenlight/internal/show/changelog"
	"greenlight/internal/show/explain"
	"greenlight/internal/show/report"
	"greenlight/internal/show/status"
	"greenlight/internal/show/workdoc"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/roadmap"
)

// A document is what a command prints with --json.
type document struct {
	command string // a command line that prints it
	doc     any    // a value of the type that is printed
	lines   bool   // one for each line, and maybe none
	schema  string // docs/schema/NAME.schema.json; commands that print the same document share one
}

// documents lists every command with --json. After a change here or to one of the types, run make
// docs.
var documents = []document{
	{"gl --json", frontDoc{}, false, "front"},
	{"gl add-slice NAME --json", addDoc{}, false, "add-slice"},
	{"gl budget --json", budgetDoc{}, false, "budget"},
	{"gl changelog --json", changelog.Document{}, false, "changelog"},
	{"gl check --json", checkDoc{}, false, "check"},
	{"gl clean --json", cleanDoc{}, false, "clean"},
	{"gl cost --json", costDoc{}, false, "cost"},
	{"gl debug --json", debugreport.Report{}, false, "debug"},
	{"gl doctor --json", doctor.Report{}, false, "doctor"},
	{"gl events --json", journal.Event{}, true, "events"},
	{"gl graph --json", graphDoc{}, false, "graph"},
	{"gl gsd line --json", gsd.LineDoc{}, false, "gsd-line"},
	{"gl hold --json", holdDoc{}, false, "hold"},
	{"gl import FILE --json", importDoc{}, false, "import"},
	{"gl init --no-agent --json", initDoc{}, false, "init"},
	{"gl logs ID --json", workdoc.Log{}, false, "logs"},
	{"gl migrate --json", migrateDoc{}, false, "migrate"},
	{"gl pause --json", pauseDoc{}, false, "pause"},
	{"gl report --format json", report.Document{}, false, "report"},
	{"gl resume --json", pauseDoc{}, false, "resume"},
	{"gl retry --json", retryDoc{}, false, "retry"},
	{"gl roadmap --json", roadmap.Document{}, false, "roadmap"},
	{"gl salvage --json", salvageDoc{}, false, "salvage"},
	{"gl settings --json", settingsDoc{}, false, "settings"},
	{"gl settings get KEY --json", settingDoc{}, false, "settings-get"},
	{"gl slice --dry-run --json", dryRunDoc{}, false, "slice"},
	{"gl slice --json", journal.Event{}, true, "events"},
	{"gl state overview --json", overviewDoc{}, false, "state-overview"},
	{"gl state show ID --json", showDoc{}, false, "state-show"},
	{"gl status --json", status.Document{}, false, "status"},
	{"gl stop --json", stopDoc{}, false, "stop"},
	{"gl sw status --json", sw.StatusDoc{}, false, "sw-status"},
	{"gl quick --dry-run --json", dryTaskDoc{}, false, "task"},
	{"gl wrap --dry-run --json", dryTaskDoc{}, false, "task"},
	{"gl assess --dry-run --json", dryTaskDoc{}, false, "task"},
	{"gl map --dry-run --json", dryTaskDoc{}, false, "task"},
	{"gl ship --dry-run --json", dryTaskDoc{}, false, "task"},
	{"gl quick --json", journal.Event{}, true, "events"},
	{"gl wrap --json", journal.Event{}, true, "events"},
	{"gl assess --json", journal.Event{}, true, "events"},
	{"gl map --json", journal.Event{}, true, "events"},
	{"gl ship --json", journal.Event{}, true, "events"},
	{"gl verify --json", verifyDoc{}, false, "verify"},
	{"gl review --json", inbox.Document{}, false, "review"},
	{"gl diff --json", workdoc.Diff{}, false, "diff"},
	{"gl version --json", versionDoc{}, false, "version"},
	{"gl workers --json", workersDoc{}, false, "workers"},
	{"gl workers drain NAME --json", workersDoc{}, false, "workers"},
	{"gl workers revoke NAME --json", workersDoc{}, false, "workers"},
	{"gl why --json", explain.Document{}, false, "why"},
	{"gl do TEXT --json", journal.Event{}, true, "events"},
	{"gl rehearse --json", journal.Event{}, true, "events"},
	{"gl trust --json", trustDoc{}, false, "trust"},
	{"gl settings set KEY VALUE --json", settingDoc{}, false, "settings-get"},
	{"gl settings unset KEY --json", settingDoc{}, false, "settings-get"},
	{"gl settings profile NAME --json", settingDoc{}, false, "settings-get"},
	{"gl settings mode NAME --json", settingDoc{}, false, "settings-get"},
	{"gl settings model --json", modelsDoc{}, false, "settings-model"},
	{"gl accept ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl say ID TEXT --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl answer ID TEXT --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl demo --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl edit ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl install --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl land --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl reject ID TEXT --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl remove ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl rename OLD NEW --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl state claim ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl state note ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl state release ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl state render --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl state set ID step=tests --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw gate NAME PASS --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw init --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw lock SKILL --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw reset --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw ship --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw start ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw task done T --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw task start T --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw task total N --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw to STATUS --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw unit add ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw unit approve ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw unit next --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl sw unlock --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl undo ID --json", cmdutil.ChangeDoc{}, false, "change"},
	{"gl uninstall --json", cmdutil.ChangeDoc{}, false, "change"},
}

// schemasOf returns the names of the commands' schemas by command path.
func schemasOf(t *testing.T, root *cobra.Command) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, d := range documents {
		c, _, err := root.Find(strings.Fields(d.command)[1:])
		if err != nil {
			t.Fatalf("%s: %v", d.command, err)
		}
		if names[c.CommandPath()] != "" {
			if d.lines { // with another flag
				continue
			}
			t.Errorf("%s: %s has another document", d.command, c.CommandPath())
		}
		names[c.CommandPath()] = d.schema
	}
	return names
}

const promise = "Lists are never null. null means unknown or none, as distinct from [] and 0. Later versions of gl may add keys; " +
	"schema_version goes up when a key is removed or changes its meaning."

// docs/schema is generated from the Go types. This test is the generator, so no program carries it.
func TestSchemas(t *testing.T) {
	want := generateSchemas(t)
	if *update {
		dir := filepath.Dir(schemaPath(""))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for path, text := range want {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	there, err := filepath.Glob(schemaPath("*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if want[path] == "" {
			t.Errorf("%s belongs to no document: run make docs", path)
		}
	}
	for path, text := range want {
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s doesn't match its Go type: run make docs", path)
		}
	}
}

// generateSchemas returns the text of every schema by path.
func generateSchemas(t *testing.T) map[string]string {
	t.Helper()
	g := newSchemaGenerator(t)
	texts := map[string]string{}
	for _, d := range documents {
		if path := schemaPath(d.schema); texts[path] == "" {
			texts[path] = g.text(d)
		}
	}
	for p := range g.enums {
		if !g.used[p] {
			t.Errorf("%s has no key %q in any document", p.of, p.key)
		}
	}
	return texts
}

// text is the whole file of a document's schema.
func (g *schemaGenerator) text(d document) string {
	var commands []string
	for _, other := range documents {
		if other.schema == d.schema {
			commands = append(commands, other.command)
			if reflect.TypeOf(other.doc) != reflect.TypeOf(d.doc) {
				g.t.Errorf("%s prints a %T, %s a %T: they can't share a schema", d.command, d.doc, other.command, other.doc)
			}
		}
	}
	s := g.schema(reflect.TypeOf(d.doc))
	s.Title, s.Description = strings.Join(commands, ", "), promise
	version, ok := s.Properties.Get("schema_version")
	if !ok {
		g.t.Fatalf("%T has no schema_version", d.doc)
	}
	version.Const = 1
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text) + "\n"
}

// Every command with --json has a schema, and a test validates its real output.
func TestEveryDocumentHasASchema(t *testing.T) {
	root, all := commandTree()
	names := schemasOf(t, root)
	for _, c := range all {
		takes := c.Flags().Lookup("json") != nil
		if takes != (names[c.CommandPath()] != "") {
			t.Errorf("%s takes --json: %v; it is in documents: %v", c.CommandPath(), takes, !takes)
		}
	}
	for _, d := range documents {
		_, local := localSchemas[d.schema]
		_, deed := deedSchemas[d.schema]
		if !local && !deed && d.schema != "status" && d.schema != "sw-status" &&
			d.schema != "events" && d.schema != "verify" && d.schema != "diff" {
			// which have tests of their own
			t.Errorf("%s: validate its real output: add %q to localSchemas if it only reads, or to deedSchemas", d.command, d.schema)
		}
	}
}
