package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/trust"
	"greenlight/internal/run/notify"
)

// Notify is the configuration of notifications about a run.
type Notify struct {
	Events   []notify.Kind
	Terminal bool     // gl's terminal: OSC 777 and the bell
	Desktop  bool     // notify-send or osascript, if there is a desktop
	Command  []string // gets each event as JSON on its stdin; nil for none
	Webhook  string   // URL that each event is posted to as JSON; "" for none
	Ntfy     string   // URL of a topic of ntfy; "" for none
}

const (
	notifyCommandKey = "notify.command"
	webhookKey       = "notify.webhook"
	ntfyKey          = "notify.ntfy"
)

// notify reads the section of that name.
func (c *Config) notify(s *section) {
	n := &c.Notify
	s.get("events", func(raw json.RawMessage) error {
		var list []notify.Kind
		bad := func(k notify.Kind) bool { return !slices.Contains(notify.Kinds(), k) }
		if json.Unmarshal(raw, &list) != nil || slices.ContainsFunc(list, bad) {
			return fmt.Errorf("must be a list of %s", kindList())
		}
		n.Events = list
		return nil
	})
	s.get("terminal", func(raw json.RawMessage) error { return yesOrNo(raw, &n.Terminal) })
	s.get("desktop", func(raw json.RawMessage) error { return yesOrNo(raw, &n.Desktop) })
	s.get("command", func(raw json.RawMessage) error { return program(raw, &n.Command) })
	s.get("webhook", func(raw json.RawMessage) error { return address(raw, &n.Webhook) })
	s.get("ntfy", func(raw json.RawMessage) error { return address(raw, &n.Ntfy) })
}

// webURLKey is the setting with the address of the pages. Notifications link to it, and gl web
// answers to its host, so a person must have allowed it.
const webURLKey = "web.url"

// web reads the section of that name.
func (c *Config) web(s *section) {
	s.get("url", func(raw json.RawMessage) error {
		var text string
		if err := address(raw, &text); err != nil {
			return err
		}
		u, err := url.Parse(strings.TrimRight(text, "/"))
		if err != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return errors.New("must be a URL without a path, such as https://box.example")
		}
		// as browsers name it: a port that goes without saying isn't in their headers
		u.Host = strings.ToLower(u.Host)
		u.Host = strings.TrimSuffix(u.Host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
		c.WebURL = u.String()
		return nil
	})
}

// address accepts the URL of a server; "" means none.
func address(raw json.RawMessage, to *string) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		u, err := url.Parse(text)
		if text == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
			*to = text
			return nil
		}
	}
	return errors.New("must be a URL that begins with https:// or http://")
}

// commands returns what a person must have allowed: a program to run, and where events are
// sent.
func (n Notify) commands() []trust.Command {
	var list []trust.Command
	if len(n.Command) > 0 {
		list = append(list, trust.Command{Key: notifyCommandKey, Line: shellwords.Join(n.Command)})
	}
	for _, c := range []trust.Command{{Key: webhookKey, Line: n.Webhook},
		{Key: ntfyKey, Line: n.Ntfy}} {
		if c.Line != "" {
			list = append(list, c)
		}
	}
	return list
}

func defaultNotify() Notify {
	return Notify{Events: notify.Default(), Terminal: true, Desktop: true}
}

func kindList() string {
	var list []string
	for _, k := range notify.Kinds() {
		list = append(list, string(k))
	}
	return strings.Join(list, ", ")
}
