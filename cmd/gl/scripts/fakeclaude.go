package scripts

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// fakeClaude is the program "claude" of the scripts. It writes what the real client writes and
// does what a script asks of it; README.md describes how to ask, and the files
// it leaves in FAKE_DIR.
func fakeClaude() {
	if !slices.Contains(os.Args, "-p") {
		fakeTalk()
	}
	f := &fake{
		slice: os.Getenv("GL_SLICE"), attempt: os.Getenv("GL_ATTEMPT"),
		root: os.Getenv("GREENLIGHT_ROOT"),
		dir:  os.Getenv("FAKE_DIR"), session: "11111111-2222-4333-8444-555555555555",
		start: time.Now(), argv: os.Args,
	}
	// the prompt comes on stdin, where the real client expects it
	if i := slices.Index(os.Args, "--input-format"); i > 0 {
		f.stdin = bufio.NewReader(os.Stdin)
		f.argv = slices.Concat(os.Args[:2], []string{f.hear().text}, os.Args[5:])
	}
	if i := slices.Index(os.Args, "--session-id"); i > 0 && i+1 < len(os.Args) {
		f.session = os.Args[i+1]
	}
	if f.slice == "" {
		f.slice = os.Getenv("GL_TASK")
	}
	if i := slices.Index(os.Args, "--resume"); i > 0 && i+1 < len(os.Args) {
		f.session = os.Args[i+1]
		f.find()
	}
	f.record()
	check(os.WriteFile(f.conversation(), nil, 0o644))
	todo := strings.Split(f.behavior(), "+")
	if todo[0] != "nocommand" {
		f.init("gl:slice", "gl:quick", "gl:wrap", "gl:assess", "gl:map", "gl:ship", "compact")
	}
	code := 0
	for _, part := range todo {
		code = f.play(part)
	}
	f.ledger("end")
	os.Exit(code)
}

// fakeTalk is the client on the user's own terminal: it prints where its input and outputs go,
// and exits with FAKE_EXIT.
func fakeTalk() {
	f := &fake{slice: "talk", attempt: "1", dir: os.Getenv("FAKE_DIR"), argv: os.Args}
	f.record()
	text := ""
	for fd, name := range []string{"stdin", "stdout", "stderr"} {
		text += fmt.Sprintf("%s %v\n", name, term.IsTerminal(fd))
	}
	dir, err := os.Getwd()
	check(err)
	f.leave("tty", text+"in "+dir+"\n")
	code, _ := strconv.Atoi(os.Getenv("FAKE_EXIT"))
	os.Exit(code)
}

type fake struct {
	slice, attempt, root, dir, session string
	start                              time.Time
	turns                              int
	argv                               []string      // as if the prompt were among it
	stdin                              *bufio.Reader // nil for one that takes no messages
}

type heard struct{ id, text string }

// hear waits for a message on stdin; an empty one is the end of the input.
func (f *fake) hear() heard {
	line, err := f.stdin.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return heard{}
	}
	check(err)
	var m struct {
		UUID    string
		Message struct{ Content string }
	}
	check(json.Unmarshal(line, &m))
	return heard{m.UUID, m.Message.Content}
}

// listen waits for a message and acknowledges it, as the client does.
func listen(f *fake) {
	m := f.hear()
	f.leave("heard", m.text+"\n")
	f.emit(object{"type": "user", "isReplay": true, "uuid": m.id, "message": object{"role": "user", "content": m.text}})
}

type object = map[string]any

// record writes what a script may need to know of this run.
func (f *fake) record() {
	env := os.Environ()
	slices.Sort(env)
	stdin := "something"
	in, err1 := os.Stdin.Stat()
	null, err2 := os.Stat(os.DevNull)
	if err1 == nil && err2 == nil && os.SameFile(in, null) {
		stdin = os.DevNull
	}
	leads := syscall.Getpgrp() == os.Getpid()
	f.leave("proc", fmt.Sprintf("%d\nstdin %s\nleads its group %v\n", os.Getpid(), stdin, leads))
	f.leave("env", strings.Join(env, "\n")+"\n")
	f.leave("argv", strings.Join(f.argv, "\n")+"\n")
	f.ledger("begin")
}

func (f *fake) leave(what, text string) {
	path := filepath.Join(f.dir, f.slice+"."+f.attempt+"."+what)
	check(os.WriteFile(path+".tmp", []byte(text), 0o644))
	check(os.Rename(path+".tmp", path))
}

func (f *fake) ledger(word string) {
	l, err := os.OpenFile(filepath.Join(f.dir, "ledger"),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	check(err)
	_, err = fmt.Fprintf(l, "%s %s\n", word, f.slice)
	check(err)
	check(l.Close())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake claude:", err)
		os.Exit(99)
	}
}

// conversation returns the file of the conversation in FAKE_DIR.
func (f *fake) conversation() string { return filepath.Join(f.dir, "conversation."+f.session) }

// find ends as the client does if it doesn't find the conversation to resume.
func (f *fake) find() {
	if _, err := os.Stat(f.conversation()); err == nil {
		return
	}
	f.leave("lost", strings.Join(f.argv, "\n")+"\n")
	text := "No conversation found with session ID: " + f.session
	f.result(object{"subtype": "error_during_execution", "is_error": true, "num_turns": 0, "errors": []string{text}})
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

// behavior returns the parts that this attempt plays, joined by +.
func (f *fake) behavior() string {
	text, _ := os.ReadFile(filepath.Join(f.root, "fake.txt"))
	for _, line := range strings.Split(string(text), "\n") {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if who == f.slice || who == f.slice+"#"+f.attempt || who == "*" {
			return what
		}
	}
	if s := os.Getenv("FAKE_CLAUDE"); s != "" {
		return s
	}
	return "complete"
}

// parts are the behaviors that a script can ask for; README.md describes them.
// Each returns the exit code to use if it is the last.
var parts = map[string]func(f *fake) int{
	"begun":     well(begin),
	"reads":     well(readSlice),
	"wait":      well(func(f *fake) { f.await("go", "go-"+f.slice) }),
	"complete":  well(complete),
	"exit0":     well(lookAround),
	"norelease": well(refuseRelease),
	"listen":    well(listen),
	"documents": well(func(f *fake) {
		f.writeDocuments("yes")
		f.result(object{"result": "Written."})
	}),
	"pending": well(putBack),
	"waiting": well(park),
	"corrupt": well(corrupt),
	"denied":  well(denied),
	"bigline": well(func(f *fake) {
		f.say(strings.Repeat("all work and no play ", 150_000))
	}),
	"hugeline": well(func(f *fake) {
		f.say(strings.Repeat("all work and no play ", 600_000))
	}),
	"stderr":        well(func(*fake) { fmt.Fprintln(os.Stderr, "a warning of the client") }),
	"grandchild":    well(leaveChild),
	"turns":         badly(runOutOfTurns),
	"limit":         badly(limit),
	"limit-success": well(limit),
	"event-limit":   badly(eventLimit),
	"auth":          badly(loginFails),
	"quota": badly(func(f *fake) {
		f.apiError(400, "billing_error", "Credit balance is too low")
	}),
	"nocommand":         well(missCommand),
	"cut":               well(cut),
	"hang":              well((*fake).hang),
	"hang-after-result": well(hangAfterResult),
	"deaf":              well(deaf),
	"exit7": func(*fake) int {
		fmt.Fprintln(os.Stderr, "fatal: the disk of the client is on fire")
		return 7
	},
	"kill9": well(die),
}

// well makes a part of a function that leads to exit code 0.
func well(do func(*fake)) func(*fake) int { return func(f *fake) int { do(f); return 0 } }

// badly makes a part of a function that leads to exit code 1.
func badly(do func(*fake)) func(*fake) int { return func(f *fake) int { do(f); return 1 } }

func (f *fake) play(part string) int {
	do, ok := parts[part]
	if !ok {
		check(fmt.Errorf("the fake claude doesn't know %q: see README.md", part))
	}
	return do(f)
}

// readSlice writes what the slash command shows the model.
func readSlice(f *fake) {
	out, err := exec.Command("gl", "slice", f.slice).Output()
	check(err)
	f.leave("slice", string(out))
}

func begin(f *fake) { f.set("status=implementing", "step=implementing") }

func complete(f *fake) {
	if os.Getenv("GL_TASK") != "" {
		f.finishTask()
		return
	}
	f.set("status=complete", "step=complete", "tests=3", "security_tests=1")
	f.result(object{"result": f.slice + " is green."})
}

// finishTask writes the summary if one is asked for, and the documents and the tag of the task.
func (f *fake) finishTask() {
	f.say("Done.")
	f.writeDocuments("yes")
	if fields := strings.Fields(f.argv[slices.Index(f.argv, "-p")+1]); f.slice == "@ship" &&
		len(fields) > 1 {
		check(exec.Command("git", "-c", "user.name=t", "-c", "user.email=t@t", "tag", "-a", fields[1], "-m", "release").Run())
	}
	if path := os.Getenv("GL_SUMMARY"); path != "" {
		check(os.MkdirAll(filepath.Dir(path), 0o755))
		check(os.WriteFile(path, []byte("# What was asked for\n\n## What changed\n\nThis and that.\n"), 0o644))
	}
	f.result(object{"result": "Done."})
}

// writeDocuments writes the task's documents in the agent's directory.
func (f *fake) writeDocuments(verdict string) {
	documents := map[string][]string{
		"@assess": {"ASSESS.md"}, "@map": {"codebase/STACK.md", "codebase/ARCHITECTURE.md", "codebase/CONVENTIONS.md", "codebase/CONCERNS.md"},
		"@wrap": {"CONTRACTS.md"}, "@ship": {"SHIP.md"},
	}
	for _, name := range documents[f.slice] {
		path := filepath.Join(".greenlight", name)
		check(os.MkdirAll(filepath.Dir(path), 0o755))
		check(os.WriteFile(path,
			[]byte("# Verdict: "+verdict+"\n\nBy "+f.slice+" "+f.attempt+".\n"), 0o644))
	}
}

// refuseRelease reports that a release isn't possible.
func refuseRelease(f *fake) {
	f.writeDocuments("no, 2 tests fail")
	f.result(object{"result": "No release."})
}

func lookAround(f *fake) {
	f.say("I have had a look around.")
	f.result(object{"result": "Looks fine to me."})
}

func putBack(f *fake) {
	f.set("status=pending")
	f.result(object{"result": "I put it back."})
}

func park(f *fake) {
	f.set("status=verifying", "waiting_for=a look at the colors")
	f.result(object{"result": "Over to you."})
}

func corrupt(f *fake) {
	path := filepath.Join(f.root, ".greenlight", "slices", f.slice+".md")
	check(os.WriteFile(path, []byte("<<<<<<< ours\n---\nid: x\n=======\n---\n>>>>>>> theirs\n"), 0o644))
	f.result(object{"result": "Merged."})
}

func runOutOfTurns(f *fake) {
	f.result(object{"subtype": "error_max_turns", "is_error": true, "terminal_reason": "max_turns",
		"errors": []string{"Reached maximum number of turns (200)"}})
}

func limit(f *fake) {
	f.apiError(429, "rate_limit", "API Error: Request rejected (429): slow down")
}

func loginFails(f *fake) {
	f.retry(401, "authentication_failed")
	f.apiError(401, "authentication_failed", "API Error: 401, the key is not valid")
}

func missCommand(f *fake) {
	f.init("compact")
	f.say("I don't know that command, but I can try.")
	f.hang()
}

func cut(f *fake) {
	f.set("status=complete", "step=complete", "tests=3")
	fmt.Print(`{"type":"result","subtype":"succ`)
}

func hangAfterResult(f *fake) {
	f.result(object{"result": "Done, I think."})
	f.hang()
}

func deaf(f *fake) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	f.leave("deaf", "")
	f.hang()
}

func die(f *fake) {
	check(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	f.hang()
}

// outlast is longer than any script lasts: a wait for a script or a signal doesn't fail on a
// busy machine, and still ends at some time by itself.
const outlast = 20 * time.Minute

// hang waits for a signal.
func (f *fake) hang() { time.Sleep(outlast) }

// await waits for one of the files in FAKE_DIR.
func (f *fake) await(files ...string) {
	for deadline := time.Now().Add(outlast); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, name := range files {
			if _, err := os.Stat(filepath.Join(f.dir, name)); err == nil {
				return
			}
		}
	}
	check(fmt.Errorf("the script never said go"))
}

// leaveChild starts a process that stays in the group and holds stdout.
func leaveChild(f *fake) {
	cmd := exec.Command("sleep", fmt.Sprint(outlast.Seconds()))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	check(cmd.Start())
	f.leave("child", fmt.Sprintln(cmd.Process.Pid))
}

// set writes state as the real agent does: it runs gl.
func (f *fake) set(fields ...string) {
	command := append([]string{"state", "set", f.slice}, fields...)
	id := f.call("gl " + strings.Join(command, " "))
	out, err := exec.Command("gl", command...).CombinedOutput()
	f.answer(id, string(out), err != nil)
	check(err)
}

func (f *fake) emit(event object) {
	event["session_id"] = f.session
	if event["uuid"] == nil {
		event["uuid"] = "99999999-8888-4777-8666-555555555555"
	}
	line, err := json.Marshal(event)
	check(err)
	_, err = os.Stdout.Write(append(line, '\n'))
	check(err)
}

func (f *fake) init(commands ...string) {
	f.emit(object{"type": "system", "subtype": "init", "cwd": f.root, "model": "claude-fake", "permissionMode": "bypassPermissions",
		"claude_code_version": "2.1.328", "slash_commands": commands, "tools": []string{"Bash", "Edit"}, "mcp_servers": []string{}})
}

func (f *fake) message(block, extra object) {
	event := object{"type": "assistant", "parent_tool_use_id": nil, "message": object{"role": "assistant", "type": "message",
		"model": "claude-fake", "content": []object{block}, "usage": object{"input_tokens": 10, "output_tokens": 5}}}
	for k, v := range extra {
		event[k] = v
	}
	f.emit(event)
}

func (f *fake) say(text string) {
	f.turns++
	f.message(object{"type": "text", "text": text}, nil)
}

func (f *fake) call(command string) string {
	f.turns++
	id := fmt.Sprintf("toolu_%02d", f.turns)
	f.message(object{"type": "tool_use", "id": id, "name": "Bash",
		"input": object{"command": command}}, nil)
	return id
}

func (f *fake) answer(id, text string, isError bool) {
	f.emit(object{"type": "user", "parent_tool_use_id": nil, "message": object{"role": "user", "content": []object{
		{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": isError},
	}}})
}

func (f *fake) result(extra object) {
	event := object{"type": "result", "subtype": "success", "is_error": false, "num_turns": f.turns + 1, "total_cost_usd": 0.25,
		"duration_ms": 1500, "api_error_status": nil, "terminal_reason": "completed", "permission_denials": []object{}}
	for k, v := range extra {
		event[k] = v
	}
	f.emit(event)
}

func (f *fake) retry(status int, word string) {
	f.emit(object{"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 600,
		"error_status": status, "error": word})
}

// apiError writes the client's events for a request that failed for good: a message of its own,
// and a "success".
func (f *fake) apiError(status int, word, text string) {
	f.message(object{"type": "text", "text": text}, object{"error": word, "is_api_error_message": true, "api_error_status": status})
	f.result(object{"is_error": true, "terminal_reason": "api_error", "api_error_status": status, "result": text})
}

// eventLimit writes a subscription's limit, which tells when it ends: in two hours. So does
// ID.N.reset.
func eventLimit(f *fake) {
	reset := time.Now().Add(2 * time.Hour)
	f.leave("reset", reset.UTC().Format(time.RFC3339))
	f.emit(object{"type": "rate_limit_event", "rate_limit_info": object{
		"status": "rejected", "resetsAt": reset.Unix(), "rateLimitType": "five_hour", "isUsingOverage": false}})
	f.apiError(429, "rate_limit", "You have used up your limit")
}

func denied(f *fake) {
	id := f.call("go test ./...")
	f.answer(id, "This command requires approval", true)
	f.result(object{"result": "I couldn't run the tests.", "permission_denials": []object{
		{"tool_name": "Bash", "tool_use_id": id, "tool_input": object{"command": "go test ./..."}}}})
}
