// Package docs embeds the pages of this folder that the program itself shows.
package docs

import _ "embed"

// Glossary is the page of the words that gl uses, with a table of them.
//
//go:embed glossary.md
var Glossary string
