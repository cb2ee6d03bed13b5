package statedir

import (
	"os"
	"slices"
	"testing"
)

func TestAddIgnores(t *testing.T) {
	tests := []struct {
		name, text, want string
		added            []string
	}{
		{"none", "", Ignore, nil},
		{"one that says it all", ".lock\n*.tmp\nruns/\n", ".lock\n*.tmp\nruns/\n", nil},
		{"a person's", "mine", "mine\n.lock\nruns/\n*.tmp\n", []string{".lock", "runs/", "*.tmp"}},
		{"windows line ends", "runs/\r\n", "runs/\r\n.lock\n*.tmp\n", []string{".lock", "*.tmp"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			path := Path(root, ".gitignore")
			if err := os.Mkdir(Path(root), 0o755); err != nil {
				t.Fatal(err)
			}
			if tt.text != "" {
				if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			added, err := AddIgnores(t.Context(), root)
			if err != nil || !slices.Equal(added, tt.added) {
				t.Errorf("%q, %v", added, err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != tt.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
