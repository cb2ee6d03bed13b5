package agent

import (
	"encoding/json"
	"slices"
)

const inputFormat = "--input-format"

// MessageVersion is the version of the UUIDs by which messages of a person are known in a stream.
const MessageVersion = '8'

// Talking is the command line of a client that takes messages on stdin while it works, and the first of these: the prompt, which argv has
// as an argument. Observed with claude 2.1.328: slash commands expand in a message, a message that comes while the model works is read at
// the end of the tool call that runs, limits of turns and dollars hold, and the client lives until its stdin ends. With an id, it says when
// it has taken a message in.
func Talking(argv []string) (talking []string, prompt string) {
	i := slices.Index(argv, "-p")
	if i < 0 || i+1 >= len(argv) {
		return argv, ""
	}
	return slices.Concat(argv[:i+1], []string{inputFormat, "stream-json", "--replay-user-messages"}, argv[i+2:]), argv[i+1]
}

// UserMessage is a message for the stdin of such a client, one line. id is a UUID, "" for none.
func UserMessage(id, text string) []byte {
	type content struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	line, _ := json.Marshal(struct { // nothing in it can fail
		Type    string  `json:"type"`
		UUID    string  `json:"uuid,omitempty"`
		Message content `json:"message"`
	}{"user", id, content{"user", text}})
	return append(line, '\n')
}
