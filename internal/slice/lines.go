package slice

import (
	"strings"
	"unicode"

	"greenlight/internal/text/textline"
)

const bom = textline.BOM

func nextLine(s string) string { return textline.First(s) }
func chomp(line string) string { return textline.Chomp(line) }
func lineEnd(s string) string  { return textline.End(s) }
func blank(line string) bool   { return textline.Blank(line) }

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
