package agent

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Places are what an agent may write besides the directory it works in. Paths are absolute and exist.
type Places struct {
	Write []string // directories
	Fixed []string // files and directories in them that stay read-only
}

// IsCodex reports whether the program, by the last part of its path, is codex.
func IsCodex(program string) bool { return path.Base(program) == "codex" }

// CodexSandbox returns argv with codex's sandbox opened for places: its own "workspace-write" lets a command write neither
// the state, which is elsewhere, nor git's directory. --add-dir would open whole directories, with the hooks and the
// configuration in them; a permission profile (codex 0.138) can except those. A profile replaces the section
// sandbox_workspace_write of the user's config.toml, so what that allows besides is carried over. argv stays as it is
// where it asks for another sandbox.
func CodexSandbox(argv []string, p Places, config string) []string {
	i := slices.Index(argv, "-s")
	if i < 0 || i+1 >= len(argv) || argv[i+1] != "workspace-write" {
		return argv
	}
	network, roots := workspaceWrite(config)
	var files []string
	for _, dir := range slices.Concat(roots, p.Write) {
		files = append(files, tomlString(dir)+`="write"`)
	}
	for _, name := range p.Fixed {
		files = append(files, tomlString(name)+`="read"`)
	}
	profile := `permissions.gl={extends=":workspace",filesystem={` + strings.Join(files, ",") + "}"
	if network {
		profile += ",network={enabled=true}"
	}
	return slices.Concat(argv[:i], []string{"-c", `default_permissions="gl"`, "-c", profile + "}"}, argv[i+2:])
}

// CodexInSandbox returns argv for codex within gl's own sandbox, which confines its commands already: codex's own can't be made
// there, since it needs a user namespace with capabilities. argv stays as it is where it asks for another sandbox.
func CodexInSandbox(argv []string) []string {
	argv = slices.Clone(argv)
	if i := slices.Index(argv, "-s"); i >= 0 && i+1 < len(argv) && argv[i+1] == "workspace-write" {
		argv[i+1] = "danger-full-access"
	}
	return argv
}

// tomlString is text as a basic string of TOML, whose escapes are among those of JSON.
func tomlString(text string) string {
	quoted, _ := json.Marshal(text) // of a string it can't fail
	return string(quoted)
}

// workspaceWrite reads what the section sandbox_workspace_write of codex's config.toml allows: the network, and directories.
// Only what codex's documentation shows is understood; anything else allows nothing.
func workspaceWrite(config string) (network bool, roots []string) {
	const section = "sandbox_workspace_write"
	in := ""
	lines := strings.Split(config, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "[") {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "["), "]")
			in = strings.TrimSpace(name)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		switch name := strings.TrimPrefix(in+"."+strings.TrimSpace(key), "."); name {
		case section + ".network_access":
			value, _, _ = strings.Cut(value, "#")
			network = strings.TrimSpace(value) == "true"
		case section + ".writable_roots":
			for !strings.Contains(value, "]") && i+1 < len(lines) {
				i++
				value += lines[i]
			}
			roots = tomlStrings(value)
		}
	}
	return network, roots
}

// tomlStrings are the absolute paths in a list of strings; nil where the list can't be read.
func tomlStrings(list string) []string {
	var all []string
	for list != "" {
		i := strings.IndexAny(list, `"'`)
		if i < 0 {
			break
		}
		rest, quote := list[i+1:], list[i:i+1]
		end := strings.Index(rest, quote)
		if end < 0 || strings.Contains(rest[:end], `\`) {
			return nil
		}
		if dir := rest[:end]; path.IsAbs(dir) {
			all = append(all, dir)
		}
		list = rest[end+1:]
	}
	return all
}
