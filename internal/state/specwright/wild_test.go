package specwright

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// node returns the result of node's JSON.stringify(state, null, 2) after the statement has
// changed state; "" without node.
func node(t *testing.T, text, statement string) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		return ""
	}
	cmd := exec.Command(path, "-e", `const state = JSON.parse(require("fs").readFileSync(0, "utf8")); `+statement+
		`; process.stdout.write(JSON.stringify(state, null, 2))`)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Every real file is read without doubts, and changing one field of it changes only that and
// lastUpdated; the layout is JSON.stringify's.
func TestWildFilesRoundTrip(t *testing.T) {
	testfiles.Slow(t)
	for _, file := range testfiles.Corpus(t, "specwright/*.json") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := project(t, string(data))
		st, err := s.Read()
		if err != nil || len(st.Odd) > 0 || st.Work == nil || len(st.Units) == 0 {
			t.Errorf("%s: %v, %+v", file, err, st)
			continue
		}
		for _, c := range s.Check() {
			if !strings.Contains(c.Message, "lock") {
				t.Errorf("%s: %s", file, c.Message)
			}
		}
		const odd = "a <b> & \u2028 \x01 \"c\""
		update(t, s, Caller{Force: true}, func(e *Edit) error { return e.set(quote(odd), e.work("currentTask")...) })
		var before, after map[string]any
		if json.Unmarshal(data, &before) != nil || json.Unmarshal([]byte(text(t, s)), &after) != nil {
			t.Fatal("no JSON")
		}
		before["lastUpdated"], before["currentWork"].(map[string]any)["currentTask"] = formatTime(base), odd
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		quoted, _ := json.Marshal(odd)
		want := node(t, string(data), "state.currentWork.currentTask = "+string(quoted)+`; state.lastUpdated = "`+formatTime(base)+`"`)
		if want == "" {
			continue
		}
		if strings.HasSuffix(string(data), "\n") {
			want += "\n"
		}
		if diff := cmp.Diff(want, text(t, s)); diff != "" {
			t.Errorf("%s isn't what node writes: %s", file, diff)
		}
	}
}

// Gates are read in every shape that agents have used, and written in the existing shape.
func TestGatesInEveryShape(t *testing.T) {
	for name, c := range map[string]struct{ gates, want, after string }{
		"none":      {`{}`, "", `{"tests":{"status":"FAIL","lastRun":"NOW","evidence":null,"findings":{"block":2,"warn":0,"info":0}}}`},
		"null":      {`null`, "", `{"tests":{"status":"FAIL","lastRun":"NOW","evidence":null,"findings":{"block":2,"warn":0,"info":0}}}`},
		"seed":      {`{"tests":{"status":"PASS","lastRun":"x","evidence":"e","findings":{"block":0,"warn":1,"info":0},"own":1.0}}`, "PASS", `{"tests":{"status":"FAIL","lastRun":"NOW","evidence":"e","findings":{"block":2,"warn":0,"info":0},"own":1.0}}`},
		"verdict":   {`{"build":{"verdict":"PASS","timestamp":"x"}}`, "", `{"build":{"verdict":"PASS","timestamp":"x"},"tests":{"verdict":"FAIL","timestamp":"NOW","evidence":null,"findings":{"block":2,"warn":0,"info":0}}}`},
		"prefix":    {`{"gate-tests":{"status":"WARN","findings":3}}`, "WARN", `{"gate-tests":{"status":"FAIL","findings":{"block":2,"warn":0,"info":0},"lastRun":"NOW","evidence":null}}`},
		"by prefix": {`{"gate-build":{"status":"WARN"}}`, "", `{"gate-build":{"status":"WARN"},"gate-tests":{"status":"FAIL","lastRun":"NOW","evidence":null,"findings":{"block":2,"warn":0,"info":0}}}`},
		"by unit":   {`{"u":{"tests":{"status":"SKIP"}},"v":{"tests":{"status":"FAIL"}}}`, "SKIP", `{"u":{"tests":{"status":"FAIL","lastRun":"NOW","evidence":null,"findings":{"block":2,"warn":0,"info":0}}},"v":{"tests":{"status":"FAIL"}}}`},
		"of others": {`{"v":{"tests":{"status":"PASS"}}}`, "", `{"v":{"tests":{"status":"PASS"}},"u":{"tests":{"status":"FAIL","lastRun":"NOW","evidence":null,"findings":{"block":2,"warn":0,"info":0}}}}`},
		"a word":    {`{"tests":"PASS"}`, "PASS", `{"tests":{"status":"FAIL","lastRun":"NOW","evidence":null,"findings":{"block":2,"warn":0,"info":0}}}`},
	} {
		s := project(t, `{"currentWork":{"id":"w","status":"verifying","unitId":"u"},"workUnits":[{"id":"u"}],"gates":`+c.gates+`}`)
		st, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if g := st.Gate("tests"); g != nil {
			got = g.Status
		}
		if got != c.want {
			t.Errorf("%s: verdict %q, want %q", name, got, c.want)
		}
		update(t, s, Caller{}, func(e *Edit) error { return e.SetGate(Result{Name: "gate-tests", Status: "FAIL", Block: 2}) })
		doc, _, _ := parse([]byte(text(t, s)), base)
		raw, _ := doc.Get("gates")
		if after := compact(t, raw); after != strings.ReplaceAll(c.after, "NOW", formatTime(base)) {
			t.Errorf("%s: %s, want %s", name, after, c.after)
		}
	}
}

func compact(t testing.TB, raw []byte) string {
	t.Helper()
	var b strings.Builder
	in := false
	for i, c := range raw { // json.Compact would escape
		if c == '"' && (i == 0 || raw[i-1] != '\\') {
			in = !in
		}
		if in || !strings.ContainsRune(" \n\r\t", rune(c)) {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Versions 0.2.0 and 2.0 are read and written in their own terms; 3.0 is read.
func TestVersions(t *testing.T) {
	s := project(t, `{"version":"0.2.0","currentWork":{"id":"w","phase":"building","activeWorkUnit":"u"},"completedWork":["a"],"workUnits":[{"id":"u","phase":"building"}]}`)
	update(t, s, Caller{}, func(e *Edit) error { return e.To(Verifying) })
	const want = `{"version":"0.2.0","currentWork":{"id":"w","phase":"verifying","activeWorkUnit":"u"},"completedWork":["a"],"workUnits":[{"id":"u","phase":"verifying"}],"lastUpdated":"2026-03-04T12:00:00.000Z"}`
	if got := compact(t, []byte(text(t, s))); got != want {
		t.Errorf("0.2.0: %s", got)
	}
	const three = `{"version":"3.0","id":"w","status":"building","tasksTotal":2,"tasksCompleted":["a"],"workUnits":[{"id":"u","status":"building"}],"unitId":"u"}`
	s = project(t, three)
	st, err := s.Read()
	if err != nil || st.Work.Tasks() != "1/2" || st.Current() == nil {
		t.Errorf("3.0: %v %+v", err, st)
	}
	_, err = s.Update(t.Context(), Caller{Force: true}, func(e *Edit) error { return e.Reset() })
	if err == nil || !strings.Contains(err.Error(), "unsupported for writing") || text(t, s) != three {
		t.Errorf("3.0 was written: %v, %s", err, text(t, s))
	}
}

func TestEnabledGates(t *testing.T) {
	const usual = "build tests security wiring spec"
	for config, want := range map[string]string{
		``: usual, `{}`: usual, `{"gates": null}`: usual, `{`: usual, `{"gates": "all"}`: usual, `{"gates": {"enabled": []}}`: "",
		`{"gates": ["spec", "tests"]}`:                                                                "tests spec",
		"\ufeff" + `{"gates": {"enabled": ["gate-spec", "lint", "build", "lint"]}}`:                   "build lint spec",
		`{"gates": {"wiring": {"enabled": true}, "lint": {}, "build": {"enabled": false}, "own": 1}}`: "wiring lint",
		`{"gates": {}}`: usual, `{"gates": {"enabled": null}}`: usual, `{"gates": {"strictness": 3}}`: usual, `{"gates": []}`: "",
		`{"gates": {"build": true, "tests": false}}`: "build", `{"gates": {"enabled": {"build": true}}}`: "build",
		`{"gates": {"tests": {"enabled": false}}}`: "", `{"gates": {"tests": {"enabled": "yes"}}}`: "tests",
	} {
		s := project(t, "{}")
		if config != "" {
			put(t, s, configFile, config)
		}
		c := ReadConfig(s.root)
		if got := strings.Join(c.Gates, " "); got != want || (c.Problem == "") == (config == "{" || strings.Contains(config, "all")) {
			t.Errorf("%s: %q (%s), want %q", config, got, c.Problem, want)
		}
	}
}

// A value that should be a list but isn't is refused rather than overwritten.
func TestNoListIsWrittenInto(t *testing.T) {
	const odd = `{"currentWork":{"id":"w","status":"building","tasksCompleted":{}},"workUnits":{}}`
	s := project(t, odd)
	for name, f := range map[string]func(*Edit) error{
		"task": func(e *Edit) error { return e.FinishTask("x") },
		"unit": func(e *Edit) error {
			return errors.Join(e.set(quote(Planning), e.work("status")...), e.AddUnit(NewUnit{ID: "u", Description: "U"}))
		},
	} {
		if _, err := s.Update(t.Context(), Caller{}, f); err == nil || !strings.Contains(err.Error(), "isn't a list, but {}") || text(t, s) != odd {
			t.Errorf("%s: %v, %s", name, err, text(t, s))
		}
	}
}

// A file that can't be understood stops everything, and stays the same byte for byte.
func TestBrokenFilesStay(t *testing.T) {
	for _, broken := range []string{"", " \n", "{", "[]", "null", `{"currentWork":"w"}`, `{"currentWork":[]}`, "{\"a\":1}x", "\x00",
		"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n"} {
		s := project(t, broken)
		called := false
		_, err := s.Update(t.Context(), Caller{Force: true}, func(*Edit) error { called = true; return nil })
		if err == nil || called || text(t, s) != broken {
			t.Errorf("%q: %v, called %v, %q", broken, err, called, text(t, s))
		}
		c, err := s.Load()
		if err != nil || len(c.Items) != 1 || c.Items[0].Corrupt == "" || c.Unsure == "" {
			t.Errorf("%q: %v %+v", broken, err, c)
		}
		if found := s.Check(); len(found) > 0 {
			t.Errorf("%q: told twice: %v", broken, found)
		}
	}
}

func FuzzUpdate(f *testing.F) {
	for _, text := range []string{
		`{"version":"2.0","currentWork":{"id":"w","status":"verifying","tasksCompleted":["a",{"id":1}]},"gates":{"u":{"x":{}}},"workUnits":[{"id":"u","order":1.5},7],"lock":"sw-build"}`,
		`{"version":"0.2.0","phase":"building","currentWork":{"id":1},"workUnits":{},"gates":[],"lock":{"holder":"x"}}`,
		"\ufeff{\r\n\"currentWork\": {\"status\": \"building\", \"status\": null, \"tasksTotal\": 1e99}}\r\n",
		`{"currentWork":null,"own":{"10":1.0,"9":-0,"\u0061":"\/"}}`,
	} {
		f.Add([]byte(text))
	}
	cfg := Config{Gates: gateOrder()}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, st, err := parse(data, base)
		if err != nil {
			return
		}
		_ = (&itemMaker{s: st, verdict: st.Verdict("", cfg, base)}).items()
		_, _ = append(st.checkWork(), st.checkLock(base)...), st.Drift()
		own := map[string]string{}
		for _, key := range doc.Keys() {
			raw, _ := doc.Get(key)
			own[key] = compact(t, raw)
		}
		e := &Edit{State: st, doc: doc, now: base, who: Caller{Token: "t", Force: true}}
		for _, f := range []func() error{
			func() error { return e.TakeLock("sw-build") }, func() error { return e.FinishTask("x") },
			func() error { return e.SetGate(Result{Name: "x", Status: "PASS"}) }, func() error { return e.To(Building) },
			func() error { return e.AddUnit(NewUnit{ID: "n", Description: "N"}) },
			func() error { _, err := e.Ship(); return err }, e.Reset,
			func() error { return e.Start(NewWork{ID: "n", Description: "N", Intensity: "full"}) },
		} {
			_ = f()
		}
		doc.Relay()
		again, _, err := parse(doc.Bytes(), base)
		if err != nil {
			t.Fatalf("%q became %q: %v", data, doc.Bytes(), err)
		}
		for key, want := range own {
			switch key {
			case "currentWork", "gates", "workUnits", "lock", "lastUpdated":
				continue
			}
			if raw, _ := again.Get(key); compact(t, raw) != want {
				t.Fatalf("%q: %q became %q", data, want, raw)
			}
		}
	})
}

// A repository's config.json chooses the gates: one that isn't understood switches none off.
func FuzzReadConfig(f *testing.F) {
	f.Add([]byte(`{"gates": ["build", "tests"], "commands": {"build": "make", "test": "make test"}}`))
	f.Add([]byte(`{"gates": {"enabled": {"enabled": {"tests": {"enabled": 0}}}}, "commands": {"tests": 1}}`))
	f.Add([]byte("\xef\xbb\xbf" + `{"gates": {"security": false, "x": true}}`))
	root := f.TempDir()
	path := filepath.Join(root, filepath.FromSlash(configFile))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c := ReadConfig(root)
		if c.Problem != "" && !slices.Equal(c.Gates, gateOrder()) {
			t.Fatalf("%q: %q, and the gates are %q", data, c.Problem, c.Gates)
		}
	})
}
