package rehearsal

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseSpec(t *testing.T) {
	none := map[Kind]float64{}
	for in, want := range map[string]Spec{
		"": {Step: 200 * time.Millisecond, Reset: 2 * time.Second,
			chances: none},
		"rehearsal": {Step: 200 * time.Millisecond, Reset: 2 * time.Second,
			chances: none},
		"rehearsal:seed=7": {Seed: 7, Step: 200 * time.Millisecond, Reset: 2 * time.Second,
			chances: none},
		" step=0 , reset=50ms, ": {Reset: 50 * time.Millisecond, chances: none},
		"max=500ms,min=50ms": {Min: 50 * time.Millisecond, Max: 500 * time.Millisecond,
			Reset: 2 * time.Second, chances: none},
		"step=1ms,jitter=50%": {Step: time.Millisecond, Jitter: 0.5, Reset: 2 * time.Second,
			chances: none},
		"step=1s,crash=5%,limit=0.25": {Step: time.Second, Reset: 2 * time.Second,
			chances: map[Kind]float64{Crash: 0.05, Limit: 0.25}},
		"step=1s,crash=S-3+S2.7#2,crash=100%,hang@7": {Step: time.Second, Reset: 2 * time.Second,
			chances: map[Kind]float64{Crash: 1},
			targets: []target{{Crash, "S-3", 0}, {Crash, "S2.7", 2}, {Hang, "7", 0}}},
	} {
		got, err := ParseSpec(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Spec{}, target{})); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
}

func TestParseSpecErrors(t *testing.T) {
	for in, want := range map[string]string{
		"crahs=5%":              `unknown key "crahs", did you mean "crash"?`,
		"sed=1":                 `did you mean "seed"?`,
		"hangs=1%":              `did you mean "hang"?`,
		"Step=1s":               `did you mean "step"?`,
		"color=red":             `unknown key "color" (known: here, seed, step,`,
		"crash":                 "crash needs a value",
		"crash=":                "crash needs a value",
		"crash=5":               "crash=5: a chance is 0% to 100%",
		"crash=-1%":             "crash=-1%: a chance",
		"crash=x%":              "crash=x%: a chance",
		"crash=NaN":             "crash=NaN: a chance",
		"crash=../x":            "crash=../x is neither a chance nor the id",
		"crash=S-1#0":           "number of an attempt",
		"crash=S-1#x":           "number of an attempt",
		"crash=S-1+":            "neither a chance nor",
		"seed=x":                "seed=x can't be read",
		"seed@1":                "seed@1 can't be read",
		"step=200":              "step=200 can't be read",
		"step=-1s":              "step=-1s can't be read",
		"step=25h":              "24h at most",
		"jitter=150%":           "jitter=150% can't be read",
		"min=1s":                "min and max go together",
		"max=1s":                "min and max go together",
		"min=2s,max=1s":         "min=2s is more than max=1s",
		"min=1s,max=2s,step=1s": "give either min and max",
		"seed=1,seed=2":         "seed is given twice",
		"crash=1%,crash=2%":     "crash is given twice",
		"crash=60%,hang=0.5":    "110%",
	} {
		if _, err := ParseSpec(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", in, err, want)
		}
	}
}

func parse(t testing.TB, s string) Spec {
	t.Helper()
	spec, err := ParseSpec(s)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestFatesComeAsOftenAsAsked(t *testing.T) {
	const n = 10_000
	chances := map[Kind]float64{Crash: .05, Hang: .02, Fail: .03, Turns: .02, Limit: .01,
		Park: .01, Quit: .04, Refuse: .1, NoCommand: .2}
	var parts []string
	rest := 1.0
	for _, kind := range Faults() {
		parts = append(parts, fmt.Sprintf("%s=%v%%", kind, 100*chances[kind]))
		rest -= chances[kind]
	}
	chances[Complete] = rest
	for seed := range 3 {
		spec := parse(t, fmt.Sprintf("seed=%d,%s", seed, strings.Join(parts, ",")))
		got, steps := map[Kind]int{}, [5]int{}
		for i := range n {
			f := spec.Fate(fmt.Sprintf("S-%d", i), 1)
			got[f.Kind]++
			steps[f.AtStep]++
		}
		for kind, p := range chances {
			if off := math.Abs(float64(got[kind]) - n*p); off > 4*math.Sqrt(n*p*(1-p)) {
				t.Errorf("seed %d: %d of %d are %s, asked for %v", seed, got[kind], n, kind, p)
			}
		}
		for i, c := range steps[:4] {
			if p := (1 - rest) / 4; math.Abs(float64(c)-n*p) > 4*math.Sqrt(n*p*(1-p)) {
				t.Errorf("seed %d: %d of %d faults in step %d", seed, c, n, i)
			}
		}
	}
}

func TestFate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("seed=%d,crash=30%%,hang=30%%,", rapid.Uint64().Draw(t, "seed"))
		low, high := 0.0, 0.0 // bounds of a whole slice's length
		if rapid.Bool().Draw(t, "bounds") {
			a, b := rapid.IntRange(0, 500).Draw(t, "min"), rapid.IntRange(0, 500).Draw(t, "more")
			text += fmt.Sprintf("min=%dms,max=%dms", a, a+b)
			low, high = float64(a), float64(a+b)
		} else {
			step, jitter := rapid.IntRange(0, 500).Draw(t, "step"),
				rapid.IntRange(0, 100).Draw(t, "jitter")
			text += fmt.Sprintf("step=%dms,jitter=%d%%", step, jitter)
			low, high = float64(4*step*(100-jitter))/100, float64(4*step*(100+jitter))/100
		}
		spec, err := ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		id, attempt := rapid.StringMatching(`S-[0-9]{1,3}`).Draw(t, "id"),
			rapid.IntRange(1, 5).Draw(t, "attempt")
		f := spec.Fate(id, attempt)
		if again := spec.Fate(id, attempt); f != again {
			t.Fatalf("%+v, then %+v", f, again)
		}
		if whole := float64(4*f.Step) / 1e6; whole < low-0.001 || whole > high+0.001 {
			t.Fatalf("%s: %v ms, not in [%v, %v]", text, whole, low, high)
		}
		want := f.Step*time.Duration(f.AtStep) + f.Step/2
		if f.Kind == Complete {
			want = 4 * f.Step
		}
		if f.Duration != want || f.AtStep < 0 || f.AtStep > 4 ||
			(f.AtStep == 4) != (f.Kind == Complete) {
			t.Fatalf("%+v", f)
		}
		if f.Tests < 1 || f.SecurityTests < 0 || spec.Fate(id, attempt+1).Step != f.Step {
			t.Fatalf("%+v", f)
		}
	})
}

// The hash must not change: a seed that showed a bug must show it again in later versions.
func TestFatesStayTheSame(t *testing.T) {
	spec := parse(t, "seed=1,crash=30%,hang=30%,min=0s,max=1s")
	var got []string
	for i := range 6 {
		f := spec.Fate(fmt.Sprintf("S-%d", i), 1)
		got = append(got, fmt.Sprintf("%s@%d %d+%d", f.Kind, f.AtStep, f.Tests, f.SecurityTests))
	}
	want := []string{"complete@4 14+9", "hang@3 12+5", "complete@4 15+8", "crash@0 5+7", "complete@4 18+8", "crash@2 14+4"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTargets(t *testing.T) {
	spec := parse(t, "crash=S-3+S-7#1,hang@7,park=S-3,fail=100%,crash=S-70#2")
	for _, tt := range []struct {
		slice   string
		attempt int
		want    Kind
	}{
		{"S-3", 1, Crash}, {"S-3", 2, Crash}, {"S-7", 1, Crash}, {"S-7", 2, Fail}, {"7", 4, Hang},
		{"S-70", 1, Fail},
		{"S-70", 2, Crash},
	} {
		if got := spec.Fate(tt.slice, tt.attempt).Kind; got != tt.want {
			t.Errorf("%s#%d: %s, want %s", tt.slice, tt.attempt, got, tt.want)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"", "rehearsal:seed=1,step=200ms,crash=5%,hang=2%", "crash=S-3+S-7#1", "min=1s,max=2s",
		"crash@1", "jitter=1e-3", "=,@", "park=#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		spec, err := ParseSpec(s)
		if err != nil {
			return
		}
		if fate := spec.Fate("S-1", 1); fate.Duration < 0 || fate.Duration > 8*longest {
			t.Errorf("%q: %+v", s, fate)
		}
	})
}
