package roadmap

import "testing"

func FuzzParse(f *testing.F) {
	f.Add("# Roadmap\n\n## Milestone: MVP [active]\n\n| Slice | Name |\n|---|---|\n| S-1 | Log in |\n")
	f.Add("## Milestone: [done]\r\n| S-1 | a \\| b |\r\n```\n## Milestone: x\n")
	f.Add("| | |\n|---|\n## Milestone: a\n### b\n|S-1|\n")
	f.Fuzz(func(t *testing.T, text string) { Parse(text) })
}
