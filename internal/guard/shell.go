package guard

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// showers are programs that show or change the files they name. Others, such as runners of tests, may name them.
var showers = strings.Fields("cat tac nl head tail less more bat od xxd strings grep egrep fgrep rg ag awk gawk mawk sed cut sort uniq diff cmp " +
	"cp mv rm ln tee truncate touch dd patch ed ex vi vim nano perl install shred")

// gitShowers are the commands of git that show files. Those that put a file back are what an agent is told to use.
var gitShowers = strings.Fields("show diff log blame annotate grep cat-file apply")

// beside are words before a command that leave it the same command.
var beside = strings.Fields("command builtin exec sudo env nohup time nice xargs then do else if while until ! {")

// ShellFiles are the words of a shell command that name files which it shows or changes, as far as the text tells: arguments of
// programs that do nothing else, and targets of redirections. What the shell would expand stays as it is; a cd counts for what
// comes after it.
func ShellFiles(command string) []string {
	var files []string
	dir := ""
	for _, words := range shellCommands(command) {
		for i := 0; i < len(words); {
			if !words[i].redirects {
				i++
				continue
			}
			n := min(i+2, len(words))
			for _, target := range words[i+1 : n] {
				files = append(files, inDir(dir, target.text))
			}
			words = slices.Delete(words, i, n)
		}
		for len(words) > 0 && (slices.Contains(beside, words[0].text) || isAssignment(words[0].text)) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		switch name := path.Base(words[0].text); {
		case name == "cd" && len(words) > 1:
			dir = inDir(dir, words[1].text)
		case slices.Contains(showers, name), name == "git" && slices.ContainsFunc(words[1:], func(w shellWord) bool { return slices.Contains(gitShowers, w.text) }):
			for _, w := range words[1:] {
				if !strings.HasPrefix(w.text, "-") {
					_, file, revision := strings.Cut(w.text, ":") // git show HEAD:a_test.go
					if name != "git" || !revision {
						file = w.text
					}
					files = append(files, inDir(dir, file))
				}
			}
		}
	}
	return files
}

func inDir(dir, file string) string {
	if dir == "" || path.IsAbs(file) || strings.HasPrefix(file, "~") {
		return file
	}
	return path.Join(dir, file)
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// A shellWord is a word of a command, or a redirection to or from the word behind it.
type shellWord struct {
	text      string
	redirects bool
}

// shellCommands are the simple commands of a text, without the bodies of here-documents.
func shellCommands(text string) [][]shellWord {
	var all [][]shellWord
	var words []shellWord
	var word strings.Builder
	inWord := false
	endWord := func() {
		if inWord {
			words = append(words, shellWord{text: word.String()})
		}
		word.Reset()
		inWord = false
	}
	end := func() {
		endWord()
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	var heres []string // ends of here-documents that begin on the next line
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\n' {
				word.WriteByte(text[i])
				inWord = true
			}
		case c == '\'' || c == '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				n = len(text) - i - 1
			}
			word.WriteString(text[i+1 : i+1+n])
			inWord = true
			i += n + 1
		case c == '#' && !inWord:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case strings.HasPrefix(text[i:], "<<") && !strings.HasPrefix(text[i:], "<<<"):
			endWord()
			mark := strings.TrimLeft(strings.TrimPrefix(text[i+2:], "-"), " \t")
			if n := strings.IndexAny(mark, " \t\n;|&>)"); n >= 0 {
				mark = mark[:n]
			}
			i = len(text) - len(text[i+2:]) + strings.Index(text[i+2:], mark) + len(mark) - 1
			heres = append(heres, strings.Trim(mark, `'"\`))
		case c == '\n':
			end()
			for _, mark := range heres {
				for i+1 < len(text) {
					line, _, _ := strings.Cut(text[i+1:], "\n")
					i += len(line) + 1
					if strings.TrimLeft(line, "\t") == mark {
						break
					}
				}
			}
			heres = nil
		case c == '<' || c == '>':
			if inWord && strings.Trim(word.String(), "0123456789") == "" { // 2>
				word.Reset()
				inWord = false
			}
			endWord()
			for i+1 < len(text) && strings.IndexByte("<>|", text[i+1]) >= 0 {
				i++
			}
			if i+1 < len(text) && text[i+1] == '&' { // 2>&1
				i++
				for i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
					i++
				}
				continue
			}
			words = append(words, shellWord{redirects: true})
		case strings.IndexByte(";|&()`", c) >= 0, c == '$' && strings.HasPrefix(text[i:], "$("):
			end()
		case c == ' ' || c == '\t':
			endWord()
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	end()
	return all
}

// Shell refuses an agent that may not read tests a command that shows or changes one. rel is a file of ShellFiles, by its path in
// the project.
func (all Isolation) Shell(agent, rel string) error {
	if !all.HidesTests(agent) || !IsTest(rel) {
		return nil
	}
	return fmt.Errorf("%s may not read or change tests, by a shell either, and %s is one: work from the contracts, the names of the tests and "+
		"what the test command prints", agent, rel)
}

// HidesTests reports whether the agent may not read tests.
func (all Isolation) HidesTests(agent string) bool {
	rules, known := all[agent]
	return known && !slices.Contains(rules.MayRead, Tests)
}
