package agent

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Places are the paths that an agent may write besides its working directory. They are absolute
// and exist.
type Places struct {
	Write []string // directories
	Fixed []string // files and directories inside them that stay read-only
}

// IsCodex reports whether the program, judging by the last element of its path, is codex.
func IsCodex(program string) bool { return path.Base(program) == "codex" }

// CodexSandbox returns argv with codex's sandbox opened for places. Codex's own
// "workspace-write" lets commands write neither the state, which is elsewhere, nor git's
// directory. --add-dir would open whole directories, including hooks and configuration; a
// permission profile (codex 0.138) can exclude those. A profile replaces the section
// sandbox_workspace_write of the user's config.toml, so its permissions are carried over. If
// argv asks for another sandbox, it is returned unchanged.
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
	return slices.Concat(argv[:i],
		[]string{"-c", `default_permissions="gl"`, "-c", profile + "}"}, argv[i+2:])
}

// CodexInSandbox returns argv for codex inside gl's own sandbox, which already confines its
// commands. Codex's sandbox can't be created there, since it needs a user namespace with
// capabilities. If argv asks for another sandbox, it is returned unchanged.
func CodexInSandbox(argv []string) []string {
	argv = slices.Clone(argv)
	if i := slices.Index(argv, "-s"); i >= 0 && i+1 < len(argv) && argv[i+1] == "workspace-write" {
		argv[i+1] = "danger-full-access"
	}
	return argv
}

// tomlString returns text as a TOML basic string, whose escapes include those of JSON.
func tomlString(text string) string {
	quoted, _ := json.Marshal(text) // marshaling a string can't fail
	return string(quoted)
}

// workspaceWrite returns what the section sandbox_workspace_write of codex's config.toml
// allows: network access and directories. It understands only the forms in codex's
// documentation; anything else allows nothing.
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

// tomlStrings returns the absolute paths in a list of strings; nil if the list can't be parsed.
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
