package attempt

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

func TestInfo(t *testing.T) {
	start := time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)
	end := start.Add(1234567 * time.Microsecond)
	cost := 0.5
	settled := Record{
		ID:     Identity{N: 2},
		Job:    Job{Agent: "claude"},
		Life:   Life{Phase: plan.Settled, StartedAt: &start, EndedAt: &end},
		Judged: Judgement{Outcome: outcome.Failed, Detail: "exit 7", Evidence: &Evidence{Result: &agent.Result{Turns: 3, CostUSD: &cost}}},
	}
	tests := []struct {
		name string
		rec  Record
		want string
	}{
		{"settled", settled, `{"n":2,"agent":"claude","worker":null,"outcome":"failed","detail":"exit 7","started":"2031-05-06T12:00:00Z",` +
			`"ended":"2031-05-06T12:00:01.234567Z","seconds":1.235,"turns":3,"cost_usd":0.5,"landed":null,"landed_as":null,"verdict":null,"gate":[]}`},
		{"judged, not settled", Record{ID: Identity{N: 1}, Job: Job{Agent: "codex"}, Life: Life{Phase: plan.Ended}, Judged: Judgement{Outcome: outcome.Failed}},
			`{"n":1,"agent":"codex","worker":null,"outcome":null,"detail":null,"started":null,"ended":null,"seconds":null,"turns":null,"cost_usd":null,"landed":null,"landed_as":null,"verdict":null,"gate":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.rec.Info())
			must(t, err)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLast(t *testing.T) {
	s := OpenStore(t.TempDir())
	must(t, s.Files.Prepare())
	for n := 1; n <= 7; n++ {
		must(t, s.unlocked().putDone(&Record{ID: Identity{Slice: "S-1", N: n}, Life: Life{Phase: plan.Settled}, Judged: Judgement{Outcome: outcome.Failed}, SchemaVersion: schemaVersion}))
	}
	must(t, s.unlocked().Put(&Record{ID: Identity{Slice: "S-1", N: 7}, Life: Life{Phase: plan.Ended}, SchemaVersion: schemaVersion})) // left by a settler that was killed
	must(t, s.unlocked().Put(&Record{ID: Identity{Slice: "S-1", N: 8}, Life: Life{Phase: plan.Started}, SchemaVersion: schemaVersion}))
	must(t, os.WriteFile(s.Files.donePath("S-1", 6, outcome.Failed), []byte("{"), 0o644))
	all, err := s.Last("S-1", "S-2")
	must(t, err)
	var got []int
	for _, r := range all["S-1"] {
		got = append(got, r.ID.N)
	}
	if diff := cmp.Diff([]int{8, 7, 5, 4, 3}, got); diff != "" {
		t.Error(diff)
	}
	if len(all["S-2"]) > 0 {
		t.Error(all["S-2"])
	}
}
