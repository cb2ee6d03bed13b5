package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"greenlight/internal/shellwords"
	"greenlight/internal/trust"
)

// Notify is what the configuration says about telling a person of what a drain meets.
type Notify struct {
	Events   []string // of NotifyEvents
	Terminal bool     // the drain's terminal: OSC 777 and the bell
	Desktop  bool     // notify-send or osascript, where there is a desktop
	Command  []string // gets each event as JSON on its stdin; nil for none
	Webhook  string   // URL that each event is posted to as JSON; "" for none
	Ntfy     string   // URL of a topic of ntfy; "" for none
}

// NotifyEvents are what notify.events may have; package notify says what each is.
func NotifyEvents() []string { return []string{"needs_you", "failed", "hold", "budget", "end", "done"} }

const (
	notifyCommandKey = "notify.command"
	webhookKey       = "notify.webhook"
	ntfyKey          = "notify.ntfy"
)

// notify takes over the keys of the section of that name.
func (c *Config) notify(s *section) {
	n := &c.Notify
	s.get("events", func(raw json.RawMessage) error {
		var list []string
		bad := func(e string) bool { return !slices.Contains(NotifyEvents(), e) }
		if json.Unmarshal(raw, &list) != nil || slices.ContainsFunc(list, bad) {
			return fmt.Errorf("must be a list of %s", strings.Join(NotifyEvents(), ", "))
		}
		n.Events = list
		return nil
	})
	for key, to := range map[string]*bool{"terminal": &n.Terminal, "desktop": &n.Desktop} {
		s.get(key, func(raw json.RawMessage) error {
			if json.Unmarshal(raw, to) != nil {
				return errors.New("must be true or false")
			}
			return nil
		})
	}
	s.get("command", func(raw json.RawMessage) error { return program(raw, &n.Command) })
	s.get("webhook", func(raw json.RawMessage) error { return address(raw, &n.Webhook) })
	s.get("ntfy", func(raw json.RawMessage) error { return address(raw, &n.Ntfy) })
}

// address takes the URL of a server; "" is none.
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

// commands are what a person must have allowed: a program to run, and where events are sent.
func (n Notify) commands() []trust.Command {
	var list []trust.Command
	if len(n.Command) > 0 {
		list = append(list, trust.Command{Key: notifyCommandKey, Line: shellwords.Join(n.Command)})
	}
	for key, to := range map[string]string{webhookKey: n.Webhook, ntfyKey: n.Ntfy} {
		if to != "" {
			list = append(list, trust.Command{Key: key, Line: to})
		}
	}
	return list
}

func defaultNotify() Notify {
	return Notify{Events: []string{"needs_you", "failed", "hold", "budget", "end"}, Terminal: true, Desktop: true}
}
