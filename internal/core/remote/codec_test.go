package remote

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

const aCommit = "0123456789abcdef0123456789abcdef01234567"

var aFence = Fence{Attempt: "S-01.3.20261124T004000Z-k2p9qx", Lease: 2}

var aJob = Job{Kind: Agent, Slice: "S-01", N: 3, Lineage: "S-01.2", Commit: aCommit, Merge: &Merge{aCommit, "Merge it"}, Setup: []string{"make", "deps"},
	Work: true, Command: Command{Program: "claude", Argv: []string{"claude", "-p", "gl slice\n🙂"}, Env: []string{"A=b"},
		Limit: 60000, Talks: true}, Needs: Needs{Agent: "claude", Labels: []string{"gpu=a100"}, Files: []string{".env", "a/b.json"}}}

// samples has every kind of message.
func samples() []Message {
	held := State{Serial: 7, Held: []Held{{aFence, Running}}, Lineages: []string{"S-01.2"}}
	return []Message{
		&Hello{Protocol: Version, Boot: 1, Release: "1.2", Host: "a.example", Slots: 4, OS: "linux", Arch: "arm64",
			Agents: []string{"claude"}, Labels: []string{"gpu=a100"}, Included: []string{".env"}, State: held},
		&Beat{Boot: 1, State: held}, &Goodbye{Boot: 1, Reason: "stopped"}, &Accept{aFence},
		&Refuse{aFence, "no room"}, &Prepared{aFence}, &Started{aFence},
		&Chunk{Fence: aFence, Offset: 3, Data: []byte{0, 1, 255}}, &Heard{Fence: aFence, Number: 1},
		&Saved{aFence, 1, aCommit}, &Offer{aFence, Result{How: Exited, Commit: aCommit, Log: 9, ExitCode: -1}},
		&Ask{Fence: aFence, Number: 2, Below: 1, Argv: []string{"state", "set"}, Input: []byte("x")},
		&Gone{aFence}, &Greet{}, &Welcome{Boot: 1, Beat: 5000}, &Drain{1, true}, &Place{aFence, 8, aJob},
		&Withdraw{aFence, 8}, &Ack{aFence, 12}, &Say{Fence: aFence, Number: 1, Line: []byte("hi")},
		&End{Fence: aFence, Kill: true, Reason: "gl stop"}, &Confirm{aFence, true},
		&Answer{Fence: aFence, Number: 2, ExitCode: 1, Errors: []byte("no")},
		&Discard{[]string{"S-01.2"}},
	}
}

func either(data []byte) (Message, error) {
	if m, err := DecodeToCoordinator(data); err == nil {
		return m, nil
	}
	return DecodeToWorker(data)
}

func TestMessagesComeBack(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range samples() {
		seen[m.kind()] = true
		data, err := Encode(m)
		if err != nil {
			t.Errorf("%s: %v", m.kind(), err)
			continue
		}
		got, err := either(data)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s became %+v, %v", data, got, err)
		}
	}
	if len(seen) != len(toCoordinator)+len(toWorker) {
		t.Errorf("%d kinds have a sample, not %d", len(seen), len(toCoordinator)+len(toWorker))
	}
}

func TestRefused(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":        ``,
		"null":           `null`,
		"no body":        `{"kind":"accept"}`,
		"null body":      `{"kind":"accept","body":null}`,
		"unknown kind":   `{"kind":"obey","body":{}}`,
		"unknown field":  `{"kind":"accept","body":{"attempt":"S-1.1","lease":1,"root":true}}`,
		"two messages":   `{"kind":"accept","body":{"attempt":"S-1.1","lease":1}}{}`,
		"no lease":       `{"kind":"accept","body":{"attempt":"S-1.1"}}`,
		"path":           `{"kind":"accept","body":{"attempt":"../x","lease":1}}`,
		"option":         `{"kind":"accept","body":{"attempt":"-x","lease":1}}`,
		"dots":           `{"kind":"accept","body":{"attempt":"a..b","lease":1}}`,
		"slash":          `{"kind":"accept","body":{"attempt":"a/b","lease":1}}`,
		"long":           `{"kind":"accept","body":{"attempt":"` + strings.Repeat("a", 999) + `","lease":1}}`,
		"commit":         `{"kind":"saved","body":{"attempt":"S-1.1","lease":1,"number":1,"commit":"HEAD"}}`,
		"no data":        `{"kind":"chunk","body":{"attempt":"S-1.1","lease":1,"offset":0,"data":""}}`,
		"negative":       `{"kind":"chunk","body":{"attempt":"S-1.1","lease":1,"offset":-1,"data":"aa=="}}`,
		"stage":          `{"kind":"beat","body":{"boot":1,"serial":0,"held":[{"attempt":"a","lease":1,"stage":"x"}]}}`,
		"directory":      `{"kind":"ask","body":{"attempt":"a","lease":1,"number":1,"below":1,"argv":[],"dir":"../.."}}`,
		"git directory":  `{"kind":"ask","body":{"attempt":"a","lease":1,"number":1,"below":1,"argv":[],"dir":".Git/x"}}`,
		"many slots":     `{"kind":"hello","body":{"protocol":2,"boot":1,"slots":99999,"os":"linux","arch":"arm"}}`,
		"label":          `{"kind":"hello","body":{"protocol":2,"boot":1,"os":"linux","arch":"arm","labels":["a\u001b[2J"]}}`,
		"larger than is": strings.Repeat(" ", MaxMessage+1),
	} {
		if m, err := either([]byte(data)); err == nil {
			t.Errorf("%s: accepted as %+v", name, m)
		}
	}
	if _, err := DecodeToCoordinator([]byte(`{"kind":"confirm","body":{"attempt":"a","lease":1}}`)); err == nil {
		t.Error("a worker may send what only the coordinator does")
	}
	if _, err := Encode(&Place{aFence, 1, Job{}}); err == nil {
		t.Error("a job without a program is sent")
	}
}

// Of a worker with another version of the protocol nothing but that is known.
func TestHelloOfAnotherVersion(t *testing.T) {
	m, err := DecodeToCoordinator([]byte(`{"kind":"hello","body":{"protocol":1,"boot":3,"shoes":1,"slots":-1}}`))
	if want := (&Hello{Protocol: 1, Boot: 3}); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestFence(t *testing.T) {
	for _, f := range []Fence{aFence, {AttemptName("sw/x", "S-01", 3, "20261124T0040-ab"), 7},
		{AttemptName("", "..@{é", 0, "x.lock"), 1}, {AttemptName("", "", 0, ""), 1},
		{AttemptName("", "-S..1", 1, strings.Repeat("é", 99)), 1 << 20}} {
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", f.Ref(), err)
		}
	}
	for _, f := range []Fence{{}, {"a", 0}, {"a", -1}, {"", 1}, {"a b", 1}, {"a/b", 1}, {"-x", 1}, {"a..b", 1}, {"a.", 1}, {"a", 9999999999}} {
		if f.Check() == nil {
			t.Errorf("%+v is valid", f)
		}
	}
	for name, ok := range map[string]bool{"a": true, "host-2": true, "": false, "-a": false, "a.b": false, "A": false,
		"a*": false, ">": false, strings.Repeat("a", 64): false} {
		if err := CheckWorker(name); (err == nil) != ok {
			t.Errorf("worker %q: %v", name, err)
		}
	}
}

// Whatever a message is, decoding it neither panics nor lets through what can't be sent again.
func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		data, err := Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := either(data)
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil && len(data) < MaxMessage/8 { // escapes take up to six times the room
			t.Fatalf("%s can't be encoded: %v", data, err)
		}
		if err != nil {
			return
		}
		back, err := either(again)
		if err != nil {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
		if last, err := Encode(back); err != nil || !bytes.Equal(last, again) {
			t.Fatalf("%s became %s: %v", again, last, err)
		}
		if o, ok := m.(*Offer); ok && !safe(o.Result.Reason) {
			t.Fatalf("%q isn't safe to show", o.Result.Reason)
		}
	})
}

func safe(s Text) bool {
	return utf8.ValidString(string(s)) && len(s) <= maxText && !strings.ContainsAny(string(s), "\n\t\r\x1b\x00\u202e")
}

func TestTextIsSafe(t *testing.T) {
	for _, s := range []string{"\x1b[2J", "a\nb", strings.Repeat("é", 5000), strings.Repeat("\x00", 5000), "\xff"} {
		var back Text
		data, err := json.Marshal(Text(s))
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || !safe(back) || back == "" {
			t.Errorf("%.20q became %.40q, %v", s, back, err)
		}
	}
}
