package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/core/agent"
)

// Help and README list all agents, in the table's order.
func TestAgentsAreListed(t *testing.T) {
	root, _ := commandTree()
	c, _, err := root.Find([]string{"slice"})
	if err != nil {
		t.Fatal(err)
	}
	if help, all := c.Flags().Lookup("agent").Usage,
		strings.Join(agent.Usage(), ", "); !strings.Contains(help, all) {
		t.Errorf("--agent is described as %q, without %s", help, all)
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## Agents\n")
	section, _, _ = strings.Cut(section, "\n\n    ") // the example
	var names []string
	for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(section, -1) {
		names = append(names, m[1])
	}
	if want := agent.BuiltIn(); !slices.Equal(names, want) {
		t.Errorf("README.md lists the agents %q, there are %q", names, want)
	}
}
