package claudetest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const hello = `{"model":"m","stream":STREAM,"system":[{"type":"text","text":"be brief"}],"tools":[{"name":"Bash"}],
	"messages":[{"role":"user","content":"hello"}MORE]}`

const answered = `,{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},
	{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no such file"}]}]}`

func ask(t *testing.T, api *API, stream, more string) (int, string) {
	t.Helper()
	return post(t, api, strings.NewReplacer("STREAM", stream, "MORE", more).Replace(hello))
}

func post(t *testing.T, api *API, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(api.URL+"/v1/messages?beta=true", "application/json",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// The pieces of a stream add up to the script's text, and the next request gets the next step.
func TestAPI(t *testing.T) {
	command := `printf '%s\n' "` + strings.Repeat("漢é", 30) + `"`
	api := Start(Script{Steps: []Reply{{Text: strings.Repeat("Well, é. ", 9),
		Calls: Bash(command).Calls}, Fail(429, "rate_limit_error", "slow down")}})
	defer api.Close()

	_, stream := ask(t, api, "true", "")
	var text, input, stop string
	for lines := bufio.NewScanner(strings.NewReader(stream)); lines.Scan(); {
		var e struct {
			Delta struct {
				Text        string
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			}
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			text, input, stop = text+e.Delta.Text, input+e.Delta.PartialJSON,
				stop+e.Delta.StopReason
		}
	}
	var call struct{ Command string }
	if err := json.Unmarshal([]byte(input), &call); err != nil || call.Command != command ||
		stop != "tool_use" || !strings.HasSuffix(text, "é. ") {
		t.Errorf("streamed %q, %q, %q (%v)", text, input, stop, err)
	}
	if code, body := ask(t, api, "false", ""); code != 200 ||
		!strings.Contains(body, `"stop_reason":"tool_use"`) {
		t.Errorf("not streamed: %d %s", code, body)
	}
	if code, body := ask(t, api, "true", answered); code != 429 ||
		!strings.Contains(body, "slow down") {
		t.Errorf("second step: %d %s", code, body)
	}
	last := api.Requests()[2]
	if r := last.Results(); len(r) != 1 || !r[0].IsError || r[0].Text != "no such file" ||
		!last.Asked("hello") || last.Asked("no such") || !last.Says("brief") {
		t.Errorf("the request was read as %+v", last)
	}
}

// The first and the last request are those of conversations, whatever the client asks beside them.
func TestRequestsOfConversations(t *testing.T) {
	w := &world{T: t, api: Start(Script{Steps: []Reply{Say("one"), Say("two")}})}
	defer w.api.Close()
	title := `{"model":"m","messages":[{"role":"user","content":"a title"}]}`
	post(t, w.api, title)
	ask(t, w.api, "true", "")
	ask(t, w.api, "true", answered)
	post(t, w.api, title)
	if first, last := w.first(), w.last(); first.Answers() != 0 || !first.Asked("hello") ||
		last.Answers() != 1 {
		t.Errorf("the first was %+v, the last %+v", first.Messages, last.Messages)
	}
}

// Only the Messages API exists: other paths, and every host behind the proxy, are refused and
// noted.
func TestAPIOutside(t *testing.T) {
	api := Start()
	defer api.Close()
	proxy, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	for _, u := range []string{"https://example.com/a", "http://example.com/b"} {
		if resp, err := client.Get(u); err == nil && resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", u, resp.Status)
		}
	}
	if resp, err := http.Get(api.URL + "/v1/models"); err != nil ||
		resp.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %v, %v", resp, err)
	}
	if got, want := api.Outside(),
		[]string{"example.com:443", "example.com", "GET /v1/models"}; !slices.Equal(got, want) {
		t.Errorf("noted %q, not %q", got, want)
	}
}
