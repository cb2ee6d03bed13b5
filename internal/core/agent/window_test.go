package agent

import (
	"testing"
	"time"
)

// The shapes written by client 2.1.330, and what other versions omit.
func TestWindow(t *testing.T) {
	reset := time.Unix(1791141000, 0).UTC()
	const head = `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1791141000,"rateLimitType":"five_hour"`
	for name, c := range map[string]struct {
		line string
		want *Window
	}{
		"both":               {head + `,"unifiedWindows":{"five_hour":{"utilization":0.07,"resetsAt":1791141000},"seven_day":{"utilization":0.02,"resetsAt":1791295200}}}}`, &Window{"five_hour", 7, &reset}},
		"the week is fuller": {head + `,"unifiedWindows":{"five_hour":{"utilization":0.07},"seven_day":{"utilization":0.98,"resetsAt":1791141000}}}}`, &Window{"seven_day", 98, &reset}},
		"of a model":         {head + `,"unifiedWindows":{"seven_day_opus":{"utilization":1}}}}`, nil},
		"beside the status":  {head + `,"utilization":0.5}}`, &Window{"five_hour", 50, &reset}},
		"no number":          {head + `,"utilization":"0.5","unifiedWindows":{"five_hour":{}}}}`, nil},
		"another shape":      {head + `,"unifiedWindows":[1]}}`, nil},
		"negative":           {head + `,"utilization":-1}}`, nil},
		"none":               {head + `}}`, nil},
	} {
		d := NewDecoder(StreamClaude)
		d.Line([]byte(c.line))
		got := d.Summary().Window
		if (got == nil) != (c.want == nil) ||
			got != nil && (got.Name != c.want.Name || got.Percent < c.want.Percent-1e-9 ||
				got.Percent > c.want.Percent+1e-9 || !got.Reset.Equal(*c.want.Reset)) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
