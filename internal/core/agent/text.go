package agent

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
)

const (
	argumentRunes = 160
	nameRunes     = 40
)

func isErrorSubtype(subtype string) bool { return strings.HasPrefix(subtype, "error") }

// text returns the text of a message or a result: an assistant's text, a result's text, or else
// its errors.
func (w *wire) text() string {
	if w.Message != nil {
		return w.Message.Content.text()
	}
	if w.Result != "" {
		return w.Result
	}
	return strings.Join(w.Errors, "; ")
}

func (b blocks) text() string {
	var parts []string
	for _, block := range b {
		if block.Type == "text" && block.Text != "" {
			parts = append(parts, block.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func initText(w *wire) string {
	parts := []string{"started"}
	if w.Version != "" {
		parts = append(parts, "version "+w.Version)
	}
	if w.Model != "" {
		parts = append(parts, w.Model)
	}
	return sanitize.Excerpt(strings.Join(parts, ", "), argumentRunes)
}

// An argument is the most informative field of a tool's input; earlier fields take precedence.
type argument struct {
	Command     string `json:"command"`
	FilePath    string `json:"file_path"`
	FilePathToo string `json:"filePath"`      // opencode
	Absolute    string `json:"absolute_path"` // gemini
	Path        string `json:"path"`
	Dir         string `json:"dir_path"` // gemini
	Pattern     string `json:"pattern"`
	Glob        string `json:"globPattern"` // cursor
	URL         string `json:"url"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Notebook    string `json:"notebook_path"`
	Query       string `json:"query"`
	Skill       string `json:"skill"`
	ToolName    string `json:"toolName"` // cursor, of an MCP tool
}

func (a argument) first() string {
	for _, s := range []string{
		a.Command, a.FilePath, a.FilePathToo, a.Absolute, a.Path, a.Dir, a.Pattern, a.Glob, a.URL,
		a.Description,
		a.Prompt, a.Notebook, a.Query, a.Skill, a.ToolName,
	} {
		if s != "" {
			return s
		}
	}
	return ""
}

func toolText(b block) string {
	var a argument
	name := sanitize.Excerpt(b.Name, argumentRunes)
	if !unmarshal(b.Input, &a) || a.first() == "" {
		return name
	}
	return name + ": " + sanitize.Excerpt(a.first(), argumentRunes)
}

func toolErrorText(b block) string {
	var content blocks
	if b.Content != nil && content.UnmarshalJSON(b.Content) == nil && content.text() != "" {
		return sanitize.Excerpt(content.text(), argumentRunes)
	}
	return "the tool failed"
}

func retryText(w *wire) string {
	reason := sanitize.Excerpt(w.Error, argumentRunes)
	if reason == "" {
		reason = "unknown"
	}
	if w.ErrorStatus != 0 {
		reason += fmt.Sprintf(" (%d)", w.ErrorStatus)
	}
	seconds := max(1, int64(w.RetryDelay+500)/1000)
	return fmt.Sprintf("retry %d of %d in %d s: %s", w.Attempt, w.MaxRetries, seconds, reason)
}

func rateLimitText(head string, info *rateLimitInfo) string {
	if info.Type != "" {
		head += " (" + info.Type + ")"
	}
	if at := info.ResetsAt.at; at != nil {
		head += ", resets " + at.Format("2006-01-02 15:04:05 UTC")
	}
	return sanitize.Excerpt(head, argumentRunes)
}

func resultText(r *Result, denials int) string {
	if r.IsError {
		return "ended: " + errorText(r)
	}
	parts := []string{fmt.Sprintf("finished: %s", words.Count(r.Turns, "turn"))}
	if r.CostUSD != nil {
		parts = append(parts, costText(*r.CostUSD))
	}
	if r.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", r.Tokens))
	}
	if r.DurationMS > 0 {
		parts = append(parts, durationText(r.DurationMS))
	}
	if denials > 0 {
		parts = append(parts, words.Count(denials, "tool call")+" denied")
	}
	text := strings.Join(parts, ", ")
	if said := sanitize.Excerpt(r.Text, argumentRunes); r.Turns == 0 && said != "" {
		text += ": " + said // the model was never asked, so this is the client's own error
	}
	return text
}

func errorText(r *Result) string {
	said := r.Text
	if len(r.Errors) > 0 {
		said = r.Errors[0]
	}
	switch {
	case r.Subtype == "error_max_turns":
		return "turn limit reached" + bracketed(said)
	case r.Subtype == "error_max_budget_usd":
		return "budget reached" + bracketed(said)
	case r.APIStatus != 0:
		return fmt.Sprintf("api error %d", r.APIStatus) + after(said)
	case isErrorSubtype(r.Subtype):
		return sanitize.Excerpt(strings.ReplaceAll(r.Subtype, "_", " "), argumentRunes) +
			after(said)
	}
	return "error" + after(said)
}

// bracketed returns the last "(…)" of s after a blank: "Reached maximum number of turns (200)"
// gives " (200)".
func bracketed(s string) string {
	open := strings.LastIndexByte(s, '(')
	if open < 0 || !strings.HasSuffix(s, ")") {
		return ""
	}
	return " " + sanitize.Excerpt(s[open:], argumentRunes)
}

func after(s string) string {
	if s = sanitize.Excerpt(s, argumentRunes); s == "" {
		return ""
	}
	return ": " + s
}

func costText(dollars float64) string {
	if dollars > 0 && dollars < 0.01 {
		return "under $0.01"
	}
	return fmt.Sprintf("$%.2f", dollars)
}

func durationText(ms int64) string {
	const most = int64(1e9) // eleven days; more indicates a broken clock, and overflows
	d := time.Duration(min(max(ms, 0), most)) * time.Millisecond
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// cutBytes returns the start of s, at most limit bytes of whole runes.
func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit]) // don't keep the whole, maybe megabytes, in memory
}
