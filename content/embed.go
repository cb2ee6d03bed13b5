// Package content holds the Markdown that ships: a Claude Code plugin named gl, whose commands are called /gl:….
package content

import "embed"

// Plugin is the plugin's directory, under "plugin".
//
//go:embed all:plugin
var Plugin embed.FS
