package project

import "testing"

// Whatever config.json says, gl has a configuration, and says what is wrong with the file.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"parallel": {"max": 4, "agent": "claude,codex", "agents": {"mine": {"command": ["x", "{prompt}"]}}}, "test": {"command": "go test ./..."}}`))
	f.Add([]byte(`{"test": {"timeout": "10m", "command": ["a", "b"]}, "budget": {"day": 1e999}, "retry": {"max": -1}}`))
	f.Add([]byte(`{"parallel": [], "git": null, "notify": {"command": ""}, "web": {"port": 70000}, "workers": {"labels": [1]}}`))
	f.Add([]byte("\xef\xbb\xbf{\"parallel\": {\"max\": 99999999999999999999}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _ := parseConfig(data)
		if c.Max < 1 || len(c.Agent) == 0 {
			t.Fatalf("%q: at most %d agents of %q", data, c.Max, c.Agent)
		}
	})
}
