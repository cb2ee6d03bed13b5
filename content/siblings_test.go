package content

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// skills returns the commands of the other systems by name.
func skills(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(Siblings, "siblings", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "SKILL.md" {
			data, _ := Siblings.ReadFile(path)
			texts[strings.Split(path, "/")[3]] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// The names are the originals': what people type, and what gl slice starts.
func TestSiblingSkills(t *testing.T) {
	texts := skills(t)
	for _, name := range strings.Fields("sw-init sw-design sw-plan sw-build sw-verify sw-ship sw-status " +
		"gsd-new-project gsd-discuss-phase gsd-plan-phase gsd-execute-phase gsd-verify-work gsd-complete-milestone gsd-new-milestone " +
		"gsd-capture gsd-pause-work gsd-resume-work gsd-progress") {
		if texts[name] == "" {
			t.Errorf("there is no /%s", name)
		}
	}
	named := regexp.MustCompile("/((?:sw|gsd)-[a-z-]+)")
	for name, text := range texts {
		fields, err := frontmatter(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// with a name, it can be typed without the plugin's
		if fields["name"] != name || fields["description"] == "" || fields["disable-model-invocation"] != "true" {
			t.Errorf("%s: %v", name, fields)
		}
		if _, hint := fields["argument-hint"]; hint != strings.Contains(text, "$ARGUMENTS") {
			t.Errorf("%s: argument-hint and $ARGUMENTS go together", name)
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if texts[m[1]] == "" {
				t.Errorf("%s names /%s, which gl doesn't have", name, m[1])
			}
		}
		if len(text) > 6<<10 || strings.Count(text, "\n") >= 80 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		if !strings.Contains(fields["allowed-tools"], "Bash") {
			t.Errorf("%s can't call gl: %s", name, fields["allowed-tools"])
		}
	}
}

// What a command writes into the state goes through gl: no text tells an agent to write the files
// that gl keeps.
func TestSiblingsLeaveTheStateToGl(t *testing.T) {
	write := regexp.MustCompile(`(?i)\b(?:edit|write|change|update)\s+(?:the\s+)?` + "`?" +
		`(?:\.specwright/state/)?(?:workflow\.json|(?:\.planning/)?STATE\.md)`)
	for name, text := range skills(t) {
		if m := write.FindString(text); m != "" {
			t.Errorf("%s says %q", name, m)
		}
	}
}
