package statusline

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/base/durable"
)

// maxTodos is the size of the largest to-do list that is read, in bytes.
const maxTodos = 256 << 10

// currentTask returns the task in progress in the to-do list of a Claude session, or "".
func currentTask(getenv func(string) string, session string) string {
	if session == "" || session != filepath.Base(session) {
		return ""
	}
	dir := cmp.Or(getenv("CLAUDE_CONFIG_DIR"), filepath.Join(getenv("HOME"), ".claude"))
	lists, _ := filepath.Glob(filepath.Join(globQuote(filepath.Join(dir, "todos")),
		globQuote(session)+"*-agent-*.json"))
	newest, latest := "", time.Time{}
	for _, path := range lists {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() &&
			info.Size() <= maxTodos && info.ModTime().After(latest) {
			newest, latest = path, info.ModTime()
		}
	}
	data, err := durable.ReadNamed(newest, maxTodos)
	if err != nil {
		return ""
	}
	var todos []struct {
		Status     string `json:"status"`
		ActiveForm string `json:"activeForm"`
	}
	_ = json.Unmarshal(data, &todos) // entries of another form stay empty
	for _, t := range todos {
		if t.Status == "in_progress" {
			return t.ActiveForm
		}
	}
	return ""
}

// globQuote returns a pattern that matches only the path s.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
