// Package content holds the Markdown that ships: a Claude Code plugin named gl, whose commands
// are called /gl:…, and the engineering standards for a project's CLAUDE.md.
package content

import "embed"

// Plugin is the plugin's directory, under "plugin".
//
//go:embed all:plugin
var Plugin embed.FS

// Siblings has a plugin for each of the other systems of state, under its name: their commands, for
// projects where the original isn't installed.
//
//go:embed all:siblings
var Siblings embed.FS

// Standards is the CLAUDE.md that gl install offers a project.
//
//go:embed CLAUDE.md
var Standards string
