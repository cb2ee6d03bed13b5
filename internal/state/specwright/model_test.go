package specwright

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/rapidtest"

	"pgregory.net/rapid"
)

// A model is the intended content of a workflow.json in its plainest form: a second
// implementation of the protocol, without files.
type model struct {
	status, intensity, unit string
	total                   int // 0 if unknown
	done                    []string
	task                    string
	gates                   map[string]string
	units                   []modelUnit
	holder                  string // of the visible lock; "" for none
	since                   time.Time
}

type modelUnit struct{ id, status string }

// rows are the transitions that depend only on the two statuses.
var rows = map[string][]string{
	"designing": {"planning"}, "planning": {"building"}, "building": {"verifying"}, "verifying": {"building"},
	"shipping": {"verifying"},
}

func (m *model) mirror() {
	for i := range m.units {
		if m.units[i].id == m.unit {
			m.units[i].status = m.status
		}
	}
}

// next returns the index of the next unit; -1 for none.
func (m *model) next() int {
	for _, want := range []string{"planned", "pending"} {
		if i := slices.IndexFunc(m.units, func(u modelUnit) bool { return u.status == want }); i >= 0 {
			return i
		}
	}
	return -1
}

func (m *model) begin(i int) {
	m.status = map[string]string{"planned": "building", "pending": "planning"}[m.units[i].status]
	m.unit, m.total, m.done, m.task, m.gates = m.units[i].id, 0, nil, "", map[string]string{}
	m.mirror()
}

// to is the model of gl sw to; false if it should be refused.
func (m *model) to(target string) bool {
	passed := m.gates["spec"] == "PASS" || m.gates["spec"] == "WARN"
	switch i := m.next(); {
	case m.status == target && m.status != "":
		return true
	case m.status == "planning" && target == "building" && m.unit == "" && len(m.units) > 0:
		first := slices.IndexFunc(m.units, func(u modelUnit) bool { return u.status == "planned" || u.status == "pending" })
		if first < 0 || m.units[first].status != "planned" {
			return false
		}
		m.begin(first)
		return true
	case m.status == "planning" && target == "building" && slices.ContainsFunc(m.units, func(u modelUnit) bool {
		return u.id == m.unit && u.status != "planned"
	}):
		return false
	case slices.Contains(rows[m.status], target),
		m.status == "designing" && target == "building" && m.intensity == "quick",
		m.status == "verifying" && (target == "shipped" || target == "shipping") && passed,
		(m.status == "building" || m.status == "shipping") && target == "shipped" && passed:
		m.status = target
		m.mirror()
		return true
	case m.status == "shipped" && i >= 0 &&
		(target == "building" && m.units[i].status == "planned" || target == "planning" && m.units[i].status == "pending"):
		m.begin(i)
		return true
	}
	return false
}

// A world pairs the store with the model.
type world struct {
	s   *Store
	m   *model
	now time.Time
}

// do runs one command of a session both ways; want runs it on the model and returns false if it
// should be refused.
func (w *world) do(t *rapid.T, who Caller, f func(*Edit) error, want func() bool) {
	fresh := w.m.holder != "" && w.now.Sub(w.m.since) <= 30*time.Minute
	foreign := w.m.holder != "" && w.m.holder != who.Token
	before := *w.m
	ok := !(fresh && foreign) && want()
	_, err := w.s.Update(context.Background(), who, f)
	if ok != (err == nil) {
		t.Fatalf("from %+v: allowed %v, but %v", before, ok, err)
	}
	if locked := new(LockedError); fresh && foreign != errors.As(err, &locked) && foreign {
		t.Fatalf("the lock of %s isn't named: %v", w.m.holder, err)
	}
	if !ok {
		gates, units := w.m.gates, w.m.units
		*w.m = before
		w.m.gates, w.m.units = gates, units
	}
	st, err := w.s.Read()
	if err != nil {
		t.Fatal(err)
	}
	if ok && foreign && st.Lock == nil { // a stale lock was cleared
		w.m.holder = ""
	}
	if st.Updated == formatTime(w.now) {
		if err := os.Chtimes(w.s.path(), w.now, w.now); err != nil {
			t.Fatal(err)
		}
		if w.m.holder == who.Token {
			w.m.since = w.now
		}
	}
	w.compare(t, st)
}

// compare reads the file afresh and compares it with the model.
func (w *world) compare(t *rapid.T, st *State) {
	have := &model{gates: map[string]string{}, since: w.m.since}
	if st.Work != nil {
		have.status, have.intensity, have.unit = st.Work.Status, st.Work.Intensity, st.Work.Unit
		have.done, have.task = st.Work.Done, st.Work.Task
		if st.Work.Total != nil {
			have.total = *st.Work.Total
		}
	}
	for _, g := range st.Gates {
		have.gates[g.Name] = g.Status
	}
	for _, u := range st.Units {
		have.units = append(have.units, modelUnit{u.ID, u.Status})
	}
	if st.Lock != nil {
		have.holder = st.Lock.Holder
	}
	if got, want := show(have), show(w.m); got != want {
		t.Fatalf("the file says\n%s\nthe model\n%s", got, want)
	}
	if d := st.Drift(); d != "" {
		t.Fatalf("drift: %s", d)
	}
	data, _ := os.ReadFile(w.s.path())
	if !strings.Contains(string(data), "\n  \"own\": 1.0,\n") || !strings.HasSuffix(string(data), "}\n") {
		t.Fatalf("what nobody touched has changed: %s", data)
	}
}

func show(m *model) string {
	gates := slices.Sorted(maps.Keys(m.gates))
	for i, g := range gates {
		gates[i] += "=" + m.gates[g]
	}
	return fmt.Sprintf("%s %s unit=%q %d%q %q gates=%v units=%v lock=%q", m.status, m.intensity, m.unit, m.total, m.done, m.task,
		gates, m.units, m.holder)
}

// After each of a series of random commands of several sessions, the file matches the protocol.
func TestModel(t *testing.T) {
	parent := memDir(t)
	rapidtest.Limit(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(parent, "m")
		if err != nil {
			rt.Fatal(err)
		}
		w := &world{s: Open(dir), m: &model{gates: map[string]string{}}, now: base}
		w.s.Now = func() time.Time { return w.now }
		put(t, w.s, configFile, `{"gates": {"enabled": ["spec"]}}`)
		put(t, w.s, ".specwright/work/w/design.md", "# Design\n")
		put(t, w.s, StateFile, "{\n  \"version\": \"2.0\",\n  \"own\": 1.0,\n  \"currentWork\": null,\n  \"gates\": {},\n  \"workUnits\": null,\n  \"lock\": null\n}\n")
		who := func(rt *rapid.T) Caller {
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{1, 1, 1, 5, 31}).Draw(rt, "minutes")) * time.Minute)
			return Caller{Token: rapid.SampledFrom([]string{"a", "a", "b"}).Draw(rt, "session")}
		}
		rt.Repeat(w.commands(who))
	})
}

func (w *world) commands(who func(*rapid.T) Caller) map[string]func(*rapid.T) {
	m := w.m
	in := func(statuses ...string) bool { return slices.Contains(statuses, m.status) }
	return map[string]func(*rapid.T){
		"lock": func(rt *rapid.T) {
			c := who(rt)
			w.do(rt, c, func(e *Edit) error { return e.TakeLock("sw-build") }, func() bool { m.holder, m.since = c.Token, w.now; return true })
		},
		"unlock": func(rt *rapid.T) {
			w.do(rt, who(rt), func(e *Edit) error { _, err := e.ReleaseLock(); return err }, func() bool { m.holder = ""; return true })
		},
		"start": func(rt *rapid.T) {
			how := rapid.SampledFrom([]string{"full", "quick"}).Draw(rt, "intensity")
			w.do(rt, who(rt), func(e *Edit) error { return e.Start(NewWork{"w", "W", how}) }, func() bool {
				switch {
				case in("designing"):
					m.intensity = how
					return true
				case !in("", "shipped", "abandoned"), slices.ContainsFunc(m.units, func(u modelUnit) bool {
					return u.status != "shipped" && u.status != "abandoned" && u.id != m.unit
				}):
					return false
				}
				*m = model{status: "designing", intensity: how, gates: map[string]string{}, holder: m.holder, since: m.since}
				return true
			})
		},
		"to": func(rt *rapid.T) {
			target := rapid.SampledFrom(Targets()).Draw(rt, "target")
			w.do(rt, who(rt), func(e *Edit) error { return e.To(target) }, func() bool { return m.to(target) })
		},
		"forward": func(rt *rapid.T) { // otherwise most runs would stay at the beginning
			target := map[string]string{"designing": "planning", "planning": "building", "building": "verifying", "verifying": "shipped"}[m.status]
			if target != "" {
				w.do(rt, who(rt), func(e *Edit) error { return e.To(target) }, func() bool { return m.to(target) })
			}
		},
		"gate": func(rt *rapid.T) {
			verdict := rapid.SampledFrom([]string{"PASS", "PASS", "WARN", "FAIL"}).Draw(rt, "verdict")
			w.do(rt, who(rt), func(e *Edit) error { return e.SetGate(Result{Name: "spec", Status: verdict}) }, func() bool {
				if in("verifying") {
					m.gates["spec"] = verdict
				}
				return in("verifying")
			})
		},
		"task": func(rt *rapid.T) {
			id := rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(rt, "task")
			w.do(rt, who(rt), func(e *Edit) error { return e.FinishTask(id) }, func() bool {
				if in("building") && !slices.Contains(m.done, id) {
					m.done = append(slices.Clone(m.done), id)
				}
				if in("building") && m.task == id {
					m.task = ""
				}
				return in("building")
			})
		},
		"begin task": func(rt *rapid.T) {
			id := rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(rt, "task")
			w.do(rt, who(rt), func(e *Edit) error { return e.StartTask(id) }, func() bool {
				ok := in("building") && !slices.Contains(m.done, id)
				if ok {
					m.task = id
				}
				return ok
			})
		},
		"total": func(rt *rapid.T) {
			n := rapid.IntRange(1, 3).Draw(rt, "total")
			w.do(rt, who(rt), func(e *Edit) error { return e.SetTotal(n) }, func() bool {
				ok := in("planning", "building") && n >= len(m.done)
				if ok {
					m.total = n
				}
				return ok
			})
		},
		"add unit": func(rt *rapid.T) {
			id := rapid.SampledFrom([]string{"u1", "u2", "u3"}).Draw(rt, "unit")
			w.do(rt, who(rt), func(e *Edit) error { return e.AddUnit(NewUnit{ID: id, Description: "U"}) }, func() bool {
				ok := in("designing", "planning") || in("building", "verifying") && len(m.units) > 0
				ok = ok && !slices.ContainsFunc(m.units, func(u modelUnit) bool { return u.id == id })
				if ok {
					m.units = append(slices.Clone(m.units), modelUnit{id, "pending"})
				}
				return ok
			})
		},
		"approve": func(rt *rapid.T) {
			id := rapid.SampledFrom([]string{"u1", "u2", "u3"}).Draw(rt, "unit")
			w.do(rt, who(rt), func(e *Edit) error { return e.ApproveUnit(id) }, func() bool {
				i := slices.IndexFunc(m.units, func(u modelUnit) bool { return u.id == id })
				if i < 0 || m.status == "" ||
					!slices.Contains([]string{"pending", "planning", "planned", "designing"}, m.units[i].status) &&
						(!slices.Contains([]string{"building", "verifying", "shipping"}, m.units[i].status) || m.unit == id) {
					return false
				}
				m.units = slices.Clone(m.units)
				m.units[i].status = "planned"
				return true
			})
		},
		"next": func(rt *rapid.T) {
			w.do(rt, who(rt), func(e *Edit) error { _, err := e.NextUnit(); return err }, func() bool {
				i := m.next()
				if i < 0 || !in("shipped", "abandoned", "planning") || in("planning") && m.unit != "" {
					return false
				}
				m.units = slices.Clone(m.units)
				m.begin(i)
				return true
			})
		},
		"ship": func(rt *rapid.T) {
			w.do(rt, who(rt), func(e *Edit) error { _, err := e.Ship(); return err }, func() bool {
				m.units = slices.Clone(m.units)
				ok := m.status != "" && m.to("shipped")
				if i := m.next(); ok && i >= 0 {
					m.begin(i)
				}
				return ok
			})
		},
		"reset": func(rt *rapid.T) {
			if m.status == "" || rapid.IntRange(0, 3).Draw(rt, "rarely") > 0 {
				return
			}
			m.holder = "" // it overrides every lock
			w.do(rt, who(rt), func(e *Edit) error { return e.Reset() }, func() bool {
				m.status, m.gates = "abandoned", map[string]string{}
				m.units = slices.Clone(m.units)
				m.mirror()
				return true
			})
		},
	}
}
