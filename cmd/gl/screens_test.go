package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"greenlight/cmd/gl/scripts"
	"greenlight/internal/base/term"
	"greenlight/internal/run/project/projecttest"
)

var updateScreens = flag.Bool("update-screens", false, "write testdata/screens.txt anew")

// longProject has a slice in each group, with names, causes and logs that are longer than any
// line, some of them Chinese or Korean.
var longProject = map[string]string{
	"config.json":   `{"git": {"isolation": "shared"}, "parallel": {"claude_flags": ["--max-turns", "200", "--dangerously-skip-permissions"]}}`,
	"slices/S-1.md": screenSlice("S-1", "Project skeleton", "complete", "tests: 1247"),
	"slices/S-2.md": screenSlice("S-2", "注文履歴の表示と検索、フィルタリングおよび並べ替え機能の実装", "failed", "step: tests"),
	"slices/S-3.md": screenSlice("S-3", "Basket with discounts, coupons, taxes by country and shipping rules", "verifying",
		"waiting_for: 配送規則の確認をお願いします (a look at the colors and the shipping rules)"),
	"slices/S-4.md": screenSlice("S-4", "한국어 이름을 가진 조각", "pending", "deps: S-2"),
	"slices/S-5.md": screenSlice("S-5", "Checkout 👩‍💻 with a name that is far longer than what is left of a narrow line", "pending", "deps: S-1"),
	"slices/S-6.md": screenSlice("S-6", "Mail", "pending", "deps: S-2,S-3,S-4,S-5"),
	"runs/done/S-2.1.failed.json": `{"schema_version": 1, "slice": "S-2", "n": 1, "agent": "claude", "phase": "settled", "outcome": "failed",
		"detail": "exit 7: エラー: テストが失敗しました, expected 3 but got 5 in src/注文/history_test.go:123", "stream": "claude", "claimed_at": "2026-03-01T10:00:00Z",
		"started_at": "2026-03-01T10:00:01Z", "ended_at": "2026-03-01T10:05:01Z", "after": {"status": "failed", "step": "tests", "session": ""},
		"evidence": {"exit_code": 7, "result": {"turns": 3, "cost_usd": 0.5}}}`,
	"runs/log/S-2.1.log": `{"type":"system","subtype":"init","session_id":"x","claude_code_version":"2.1","slash_commands":["gl:slice"]}
{"type":"assistant","message":{"content":[{"type":"text","text":"I look at the 注文履歴 page first, and then write tests for the filters: an empty filter shows everything."},{"type":"tool_use","id":"t1","name":"Agent","input":{"subagent_type":"gl:gl-test-writer","description":"tests"}}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"テストを書いています、フィルタと並べ替えと検索のすべての組み合わせについて"},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"go test ./... -run TestOrders -count=1 && go vet ./... && echo 終わりました"}}]},"parent_tool_use_id":"t1"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"exit 1: FAIL"}]},"parent_tool_use_id":"t1"}
{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":3,"total_cost_usd":0.5,"duration_ms":5000}
`,
}

func screenSlice(id, name, status, more string) string {
	return fmt.Sprintf("---\nid: %s\nname: %s\nstatus: %s\n%s\n---\n\n# %s\n", id, name, status, more, id)
}

var (
	sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)
)

// gl's output on a terminal isn't wider than the terminal, at any width and in any script;
// testdata/screens.txt shows it. Only a command to be copied stays on one line of any length.
// Colors are on, and don't change the layout.
func TestScreens(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil || runtime.GOOS != "linux" {
		t.Skip("no script(1), which gives a program a terminal")
	}
	root := projecttest.Write(t, longProject)
	home := t.TempDir()
	run := func(width int, commands ...string) []string {
		line := fmt.Sprintf("stty cols %d rows 900", width)
		for _, c := range commands {
			line += "; " + c + "; printf '\\f'"
		}
		cmd := exec.Command("script", "-qec", line, "/dev/null")
		cmd.Dir = root
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GORACE=" + scripts.RaceOptions, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TZ=UTC", "GL_PAGER=cat", "SHELL=/bin/sh"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", commands, err, out)
		}
		return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(out), "\r", ""), "\f"),
			"\f")
	}
	var golden strings.Builder
	for i, width := range []int{40, 80, 120, 200} {
		pinned := []string{"gl status", "gl why", "gl why S-2", "gl logs S-2"}
		all := append(pinned, "gl doctor", "gl settings", "gl cost", "gl graph", "gl hold", "gl status --all", "gl help", "gl help slice")
		if i == 3 { // the last: it changes the project
			all = append(all, "gl slice S-5 --agent rehearsal:here,step=1ms")
		}
		for j, text := range run(width, all...) {
			plain := sgr.ReplaceAllString(text, "")
			for line := range strings.SplitSeq(strings.TrimSuffix(plain, "\n"), "\n") {
				copied := strings.HasPrefix(line, "    ") && all[j] == "gl doctor" ||
					strings.HasPrefix(line, "  gl ") && strings.HasPrefix(all[j], "gl help") ||
					strings.HasPrefix(line, "   ") && strings.HasPrefix(all[j], "gl slice")
				if term.Width(line) > width && !copied && len(strings.Fields(line)) > 1 {
					t.Errorf("%s: %d columns in %d: %q", all[j], term.Width(line), width, line)
				}
			}
			if j < len(pinned) {
				fmt.Fprintf(&golden, "=== %d columns: %s\n%s", width, all[j], plain)
			}
			for command, colored := range map[string]string{"gl status": "\x1b[31mS-2", "gl why": "\x1b[31mS-2", "gl logs S-2": "\x1b[35m|", "gl doctor": "\x1b[1mGood to know",
				"gl settings": "\x1b[1mmode", "gl slice": "\x1b[32mS-5 complete"} {
				if (all[j] == command || command == "gl slice" &&
					strings.HasPrefix(all[j], "gl slice")) && !strings.Contains(text, colored) {
					t.Errorf("%s at %d columns: no %q in %q", command, width, colored, text)
				}
			}
		}
	}
	path := filepath.Join("testdata", "screens.txt")
	if *updateScreens {
		if err := os.WriteFile(path, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != golden.String() {
		t.Errorf("%s isn't what is seen today (go test ./cmd/gl -run TestScreens -update-screens writes it anew):\n%s", path, golden.String())
	}
}
