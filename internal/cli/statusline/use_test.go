package statusline

import (
	"testing"

	"greenlight/internal/base/term"
)

// The scale is GSD's: the part that the client reserves for compacting doesn't count as usable.
func TestContextScale(t *testing.T) {
	for _, c := range []struct {
		remaining float64
		used      int
		color     term.Color
	}{
		{100, 0, term.Green}, {90, 12, term.Green}, {60, 48, term.Green}, {58, 50, term.Yellow},
		{50, 60, term.Yellow}, {45, 66, term.Orange},
		{40, 72, term.Orange}, {34, 79, term.Orange}, {33, 80, term.Red}, {20, 96, term.Red},
		{16.5, 100, term.Red}, {5, 100, term.Red}, {0, 100, term.Red},
		{-3, 100, term.Red}, {170, 0, term.Green},
	} {
		for key, n := range map[string]float64{"remaining_percentage": c.remaining,
			"used_percentage": 100 - c.remaining} {
			l := Line{Context: Client{"context_window": map[string]any{key: n}}.used()}
			if _, color := l.meter(); l.Context != c.used || color != c.color {
				t.Errorf("%s %g: %d, want %d", key, n, l.Context, c.used)
			}
		}
	}
}

// The account's windows and the cost are shown if the client reports them.
func TestUse(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "Claude",
		`{"cost": {"total_cost_usd": 1.254}, "rate_limits": {"five_hour": {"used_percentage": 62.4, "resets_at": 1791141000}, "seven_day": {"used_percentage": 20}}}`: "Claude │ 5h 62% 7d 20% $1.25",
		`{"cost": {"total_cost_usd": "x"}, "rate_limits": {"five_hour": {"used_percentage": 140}, "seven_day": 7}}`:                                                   "Claude │ 5h 100%",
		`{"cost": {"total_cost_usd": -1}, "rate_limits": null}`:                                                                                                       "Claude",
	} {
		c := client(t, text)
		l := Line{Model: c.model(), Context: c.used(), Windows: c.windows(), CostUSD: c.cost()}
		if got := l.Render(false); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
