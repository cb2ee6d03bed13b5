package claudetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
	"greenlight/internal/workspace/sandbox"
)

// A shellAPI is a stand-in for the APIs of codex, Gemini CLI and opencode: its model runs one
// shell command after the other, and then says that it is done. It keeps the requests.
type shellAPI struct {
	*httptest.Server
	commands []string
}

func startShellAPI(t *testing.T, commands ...string) *shellAPI {
	a := &shellAPI{commands: commands}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

// next returns the command after the answered ones; false after the last.
func (a *shellAPI) next(answered int) (command string, more bool) {
	if answered >= len(a.commands) {
		return "", false
	}
	return a.commands[answered], true
}

func (a *shellAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/responses"):
		a.responses(w, body)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		a.completions(w, body)
	case strings.HasSuffix(r.URL.Path, "generateContent"),
		strings.HasSuffix(r.URL.Path, "GenerateContent"):
		a.generate(w, body, strings.HasSuffix(r.URL.Path, "streamGenerateContent"))
	default:
		http.NotFound(w, r)
		return
	}
}

// events writes server-sent events. An event with a type is named by it.
func events(w http.ResponseWriter, list ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range list {
		data, _ := json.Marshal(e)
		if name, ok := e["type"].(string); ok {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// responses serves OpenAI's Responses API, which codex uses.
func (a *shellAPI) responses(w http.ResponseWriter, body []byte) {
	var req struct {
		Input []struct{ Type string }
		Tools []struct{ Name string }
	}
	_ = json.Unmarshal(body, &req)
	answered := 0
	for _, in := range req.Input {
		if strings.HasSuffix(in.Type, "_call_output") {
			answered++
		}
	}
	id := fmt.Sprintf("resp_%d", answered)
	item := object{"type": "message", "role": "assistant", "id": "msg_" + id, "content": []object{{"type": "output_text", "text": "Done."}}}
	if command, more := a.next(answered); more {
		name, args := "", object{}
		for _, t := range req.Tools {
			switch t.Name {
			case "shell_command":
				name, args = t.Name, object{"command": command}
			case "exec_command":
				name, args = t.Name, object{"cmd": command, "yield_time_ms": 20000}
			case "shell":
				name, args = t.Name, object{"command": []string{"bash", "-lc", command}}
			}
		}
		text, _ := json.Marshal(args)
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": name, "arguments": string(text)}
	}
	usage := object{"input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
		"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}
	events(w, object{"type": "response.created", "response": object{"id": id}},
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": object{"id": id, "usage": usage, "output": []object{item}}})
}

// completions serves OpenAI's older API, by which opencode reaches any provider.
func (a *shellAPI) completions(w http.ResponseWriter, body []byte) {
	var req struct {
		Stream   bool
		Messages []struct{ Role string }
		Tools    []any
	}
	_ = json.Unmarshal(body, &req)
	answered := 0
	for _, m := range req.Messages {
		if m.Role == "tool" {
			answered++
		}
	}
	delta, reason := object{"role": "assistant", "content": "Done."}, "stop"
	// without tools the request is for a title
	if command, more := a.next(answered); more && len(req.Tools) > 0 {
		text, _ := json.Marshal(object{"command": command, "description": "run it"})
		delta, reason = object{"role": "assistant", "tool_calls": []object{{"index": 0, "id": fmt.Sprintf("call_%d", answered), "type": "function",
			"function": object{"name": "bash", "arguments": string(text)}}}}, "tool_calls"
	}
	chunk := func(delta object, reason any) object {
		return object{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}}}
	}
	last := chunk(object{}, reason)
	last["usage"] = object{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
	events(w, chunk(delta, nil), last)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// generate serves Gemini's API.
func (a *shellAPI) generate(w http.ResponseWriter, body []byte, stream bool) {
	var req struct {
		Contents []struct {
			Parts []struct{ FunctionResponse *struct{ Name string } }
		}
		Tools []any
	}
	_ = json.Unmarshal(body, &req)
	answered := 0
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				answered++
			}
		}
	}
	part := object{"text": "Done."}
	if command, more := a.next(answered); more && len(req.Tools) > 0 {
		part = object{"functionCall": object{"name": "run_shell_command", "args": object{"command": command, "description": "run it"}}}
	}
	answer := object{
		"candidates":    []object{{"index": 0, "content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
	}
	if !stream {
		writeJSON(w, http.StatusOK, answer)
		return
	}
	events(w, answer)
}

// An other is a real client other than Claude Code.
type other struct {
	name string
	bin  string                                 // below node_modules
	set  func(w *world, api *shellAPI) []string // prepares its home and returns variables
}

func others() []other {
	return []other{
		{"codex", ".bin/codex", func(w *world, api *shellAPI) []string {
			w.write(filepath.Join(w.home, ".codex", "config.toml"), fmt.Sprintf("model = \"m\"\nmodel_provider = \"standin\"\n"+
				"[model_providers.standin]\nname = \"standin\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"STANDIN_KEY\"\n", api.URL+"/v1"))
			// codex runs commands with bash -lc
			w.write(filepath.Join(w.home, ".profile"),
				"PATH="+filepath.Join(filepath.Dir(w.home), "bin")+":$PATH\n")
			return []string{"STANDIN_KEY=" + Key}
		}},
		{"gemini", ".bin/gemini", func(w *world, api *shellAPI) []string {
			w.write(filepath.Join(w.home, ".gemini", "settings.json"), `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": true}, "privacy": {"usageStatisticsEnabled": false}}`)
			return []string{"GEMINI_API_KEY=" + Key, "GOOGLE_GEMINI_BASE_URL=" + api.URL, "GEMINI_MODEL=gemini-2.5-pro"}
		}},
		{"opencode", "opencode-linux-x64/bin/opencode", func(w *world, api *shellAPI) []string {
			w.write(filepath.Join(w.home, ".config", "opencode", "opencode.json"), fmt.Sprintf(`{"model": "standin/m", "small_model": "standin/m", "autoupdate": false, "share": "disabled",
				"provider": {"standin": {"npm": "@ai-sdk/openai-compatible", "name": "standin", "options": {"baseURL": %q, "apiKey": "k"},
				"models": {"m": {"name": "m", "limit": {"context": 100000, "output": 10000}}}}}}`, api.URL+"/v1"))
			return nil
		}},
		{"claude", "@anthropic-ai/claude-code-linux-x64/claude", func(*world, *shellAPI) []string {
			return nil
		}},
	}
}

// newOther creates a project outside the temporary directory, in which the client builds with
// defaults. codex always lets its commands write the temporary directory, and shows them only
// the usual files of /dev.
func newOther(t *testing.T, o other, api *shellAPI, scripts ...Script) *world {
	t.Helper()
	client := filepath.Join(os.Getenv(DirVariable), "node_modules", o.bin)
	if _, err := os.Stat(client); bin == "" || err != nil {
		t.Skip(o.name + " isn't installed in " + DirVariable)
	}
	w := &world{T: t, patience: patience}
	home, err := os.UserHomeDir()
	w.check(err)
	dir, err := os.MkdirTemp(home, ".gl-claudetest-")
	w.check(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w.root, w.home = filepath.Join(dir, "shop"), filepath.Join(dir, "home")
	programs := filepath.Join(dir, "bin")
	for _, d := range []string{w.root, w.home, programs} {
		w.check(os.Mkdir(d, 0o755))
	}
	w.check(os.Symlink(client, filepath.Join(programs, o.name)))
	gl, err := os.ReadFile(filepath.Join(bin, "gl"))
	w.check(err)
	w.check(os.WriteFile(filepath.Join(programs, "gl"), gl, 0o755))
	w.serve(scripts...)
	w.env = append(Environ(w.api, w.home, programs+":"+bin+":"+os.Getenv("PATH")), o.set(w, api)...)
	w.write(filepath.Join(w.home, ".gitconfig"), "[user]\n\tname = Tester\n\temail = tester@example.com\n")
	w.must("git", "init", "-q", "-b", "main")
	w.must("gl", "init", "--no-agent", "--graph", w.graph([]string{"S-01"}))
	w.must("gl", "settings", "set", "test.command", "sh test.sh")
	w.must("gl", "settings", "set", "parallel.agent", o.name)
	w.write(filepath.Join(w.root, "test.sh"), "test -e done.txt && echo 1 passed\n")
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "start")
	return w
}

// Each client builds and lands a slice with defaults, in a project outside the temporary
// directory.
func TestOthersLand(t *testing.T) {
	for _, o := range others() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			o.land(t, "")
		})
	}
}

// The same in gl's own sandbox.
func TestOthersLandInTheSandbox(t *testing.T) {
	if sandbox.Check(context.Background()) != nil {
		t.Skip("there is no sandbox here")
	}
	for _, o := range others() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			o.land(t, "bwrap")
		})
	}
}

// land makes the client build a slice, and checks that it landed.
func (o other) land(t *testing.T, box string) {
	t.Helper()
	commands := []string{
		"gl slice S-01 && gl state claim S-01 && gl state set S-01 status=tests step=tests",
		"echo done > done.txt && git add done.txt && git commit -q -m 'feat(S-01): done'",
		"true",
		"gl state set S-01 status=complete step=complete tests=1 waiting_for= && gl state release S-01",
	}
	// by a sandbox
	kept := []string{".git/hooks/x", ".git/config", ".greenlight/runs/x", ".greenlight/config.json"}
	if o.name == "codex" || box != "" {
		commands[2] = "cd $GREENLIGHT_ROOT; for f in " + strings.Join(kept, " ") + "; do echo '# touched' >> $f; done; true"
	}
	var steps []Reply
	for _, c := range commands {
		steps = append(steps, Bash(c))
	}
	w := newOther(t, o, startShellAPI(t, commands...), Script{Steps: append(steps, Say("Done."))})
	w.must("gl", "settings", "set", "review", "never")
	if box != "" {
		w.must("gl", "settings", "set", "sandbox", box)
	}
	r, said := w.build("S-01")
	if r.Judged.Outcome != outcome.Done {
		t.Fatalf("%s: %s\n%s\n%s", r.Judged.Outcome, r.Judged.Detail, said, w.call("gl", "logs", "S-01").out)
	}
	for _, path := range kept {
		if text, err := os.ReadFile(filepath.Join(w.root, path)); err == nil &&
			strings.Contains(string(text), "touched") {
			t.Errorf("%s could be written", path)
		}
	}
	if log := w.must("git", "log", "--oneline", "main"); !strings.Contains(log, "S-01") {
		t.Errorf("main has\n%s", log)
	}
}
