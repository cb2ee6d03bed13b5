package install

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"greenlight/internal/jsonedit"
)

// The key of Claude Code's settings.json and what we put there.
const (
	statusLineKey = "statusLine"
	statusLine    = `{"type":"command","command":"gl statusline"}`
)

// An OtherStatusLineError says that the settings have a status line already that isn't ours.
type OtherStatusLineError struct {
	What string // its command, or what stands there instead
}

func (e *OtherStatusLineError) Error() string {
	return fmt.Sprintf("there is another status line already, %s: --force puts gl's in its place", e.What)
}

// PutStatusLine makes `gl statusline` the status line of the settings. One of ours stays as it is, flags and all. Another
// one is an *OtherStatusLineError, or is replaced by force: then was is its value, for DropStatusLine.
func PutStatusLine(doc *jsonedit.Doc, force bool) (was json.RawMessage, err error) {
	have, ok := doc.Get(statusLineKey)
	switch {
	case ok && ourStatusLine(have):
		return nil, nil
	case ok && string(have) != "null" && !force:
		return nil, &OtherStatusLineError{statusLineText(have)}
	case ok:
		was = append(was, have...)
	}
	return was, doc.Set(json.RawMessage(statusLine), statusLineKey)
}

// DropStatusLine takes our status line out and puts back what was there before it, if anything. It says whether there was
// one of ours.
func DropStatusLine(doc *jsonedit.Doc, was json.RawMessage) (bool, error) {
	have, ok := doc.Get(statusLineKey)
	if !ok || !ourStatusLine(have) {
		return false, nil
	}
	if was != nil {
		return true, doc.Set(was, statusLineKey)
	}
	return doc.Remove(statusLineKey), nil
}

// ourStatusLine says whether a value runs gl statusline, wherever gl is and with whatever flags.
func ourStatusLine(raw json.RawMessage) bool {
	words := strings.Fields(statusLineCommand(raw))
	return len(words) > 1 && filepath.Base(words[0]) == "gl" && words[1] == "statusline"
}

func statusLineCommand(raw json.RawMessage) string {
	var v struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(raw, &v) // what is no object has no command
	return v.Command
}

// statusLineText names a status line in a message.
func statusLineText(raw json.RawMessage) string {
	const most = 80
	text := statusLineCommand(raw)
	if text == "" {
		text = string(raw)
	}
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
