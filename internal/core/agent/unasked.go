package agent

import (
	"path"
	"slices"
	"strings"
)

// unasked lists, for each client, the flags by which it acts without asking for permission.
func unasked() map[string][][]string {
	return map[string][][]string{
		claudeName: {{"--dangerously-skip-permissions"}, {"--permission-mode", "bypassPermissions"},
			{"--permission-mode=bypassPermissions"}},
		"codex": {{"--dangerously-bypass-approvals-and-sandbox"}, {"--yolo"}, {"--full-auto"},
			{"-s", "danger-full-access"}, {"-s", "workspace-write"}},
		"gemini":       {{"--approval-mode", "yolo"}, {"--approval-mode=yolo"}, {"--yolo"}, {"-y"}},
		"opencode":     {{"--auto"}},
		"cursor-agent": {{"--force"}, {"-f"}},
	}
}

// Unasked returns the flags of a command line by which a client that gl knows acts without asking
// for permission: "--approval-mode yolo". It returns "" if there are none.
func Unasked(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	for _, flags := range unasked()[path.Base(argv[0])] {
		for i := range argv {
			if slices.Equal(argv[i:min(i+len(flags), len(argv))], flags) {
				return strings.Join(flags, " ")
			}
		}
	}
	return ""
}
