package plugin

import (
	"slices"
	"strings"

	"greenlight/content"
	"greenlight/internal/cli/install"
)

// Documents returns the texts that ship with gl by the names that gl ref uses: references by
// their own names, the others with their directory, commands of other systems with the system,
// the engineering standards as CLAUDE and the isolation table as isolation.
func Documents() map[string]string {
	isolation, _ := Read("isolation.json") // reading an embedded file can't fail
	texts := map[string]string{"CLAUDE": content.Standards, "isolation": string(isolation)}
	for _, dir := range []string{"references", "templates", "agents", "commands"} {
		entries, _ := content.Plugin.ReadDir("plugin/" + dir)
		for _, entry := range entries {
			data, _ := Read(dir + "/" + entry.Name())
			name := dir + "/" + strings.TrimSuffix(entry.Name(), ".md")
			texts[strings.TrimPrefix(name, "references/")] = string(data)
		}
	}
	for _, system := range install.Systems() {
		entries, _ := content.Siblings.ReadDir("siblings/" + system + "/skills")
		for _, entry := range entries {
			data, _ := content.Siblings.ReadFile("siblings/" + system + "/skills/" + entry.Name() + "/SKILL.md")
			texts[system+"/"+entry.Name()] = string(data)
		}
	}
	return texts
}

// DocumentNames returns the names of Documents, those without a directory first.
func DocumentNames() []string {
	var names []string
	for name := range Documents() {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}
