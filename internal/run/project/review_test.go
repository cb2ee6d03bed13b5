package project_test

import (
	"testing"

	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/state/contracts"
)

// The slice's own setting precedes the configuration's, and the contracts decide if the setting
// is verify.
func TestNeedsReview(t *testing.T) {
	for _, tt := range []struct{ own, config, contract, want string }{
		{"", "", "C-1", "its contract C-1 says verify"},
		{"", "", "C-2", ""},
		{"", "", "", ""},
		{"", "verify", "C-1", "its contract C-1 says verify"},
		{"", "always", "C-2", "review is always"},
		{"", "never", "C-1", ""},
		{"always", "never", "", "review is always for it"},
		{"never", "always", "C-1", ""},
		{" Verify", "never", "C-1", "its contract C-1 says verify"},
		{"verify", "always", "C-2", ""},
	} {
		t.Run(tt.own+" "+tt.config+" "+tt.contract, func(t *testing.T) {
			config := "{}"
			if tt.config != "" {
				config = `{"review": "` + tt.config + `"}`
			}
			pr := projecttest.Open(t, map[string]string{
				"config.json":   config,
				"CONTRACTS.md":  "## C-1\n- Verification: verify\n## C-2\n- Verification: auto\n",
				"slices/S-1.md": "---\nid: S-1\nstatus: pending\nreview: " + tt.own + "\ncontracts: " + tt.contract + "\n---\n",
			})
			got, err := pr.Approvals().Of("S-1", contracts.ReadBook(pr.Root))
			if err != nil || got != tt.want {
				t.Errorf("%q, %v, not %q", got, err, tt.want)
			}
		})
	}
}
