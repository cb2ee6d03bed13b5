package agent

import (
	"encoding/json"
	"slices"
)

const inputFormat = "--input-format"

// MessageVersion is the UUID version that identifies a person's messages in a stream.
const MessageVersion = '8'

// Talking returns the command line of a client that reads messages from stdin while it works,
// and the first message: the prompt, which argv has as an argument. Observed with claude
// 2.1.328: slash commands expand in a message, a message that arrives while the model works is
// read at the end of the running tool call, limits of turns and dollars apply, and the client
// lives until its stdin ends. It acknowledges messages that have an id.
func Talking(argv []string) (talking []string, prompt string) {
	i := slices.Index(argv, "-p")
	if i < 0 || i+1 >= len(argv) {
		return argv, ""
	}
	return slices.Concat(argv[:i+1], []string{inputFormat, "stream-json", "--replay-user-messages"},
		argv[i+2:]), argv[i+1]
}

// UserMessage returns a message for the stdin of such a client, one line. id is a UUID, "" for
// none.
func UserMessage(id, text string) []byte {
	type content struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	line, _ := json.Marshal(struct { // can't fail
		Type    string  `json:"type"`
		UUID    string  `json:"uuid,omitempty"`
		Message content `json:"message"`
	}{"user", id, content{"user", text}})
	return append(line, '\n')
}
