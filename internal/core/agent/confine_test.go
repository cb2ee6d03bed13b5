package agent

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCodexSandbox(t *testing.T) {
	places := Places{Write: []string{"/p/.greenlight", `/q "x"/objects`},
		Fixed: []string{"/p/.greenlight/config.json"}}
	const files = `"/p/.greenlight"="write","/q \"x\"/objects"="write","/p/.greenlight/config.json"="read"`
	for _, c := range []struct {
		name, config, profile string
	}{
		{"no config", "", `permissions.gl={extends=":workspace",filesystem={` + files + `}}`},
		{"network", "model = \"m\"\n[sandbox_workspace_write]\nnetwork_access = true # tests\n[tools]\nnetwork_access = false\n",
			`permissions.gl={extends=":workspace",filesystem={` + files +
				`},network={enabled=true}}`},
		{"network of another section", "[other]\nnetwork_access = true\n", `permissions.gl={extends=":workspace",filesystem={` + files + `}}`},
		{"caches", "[sandbox_workspace_write]\nwritable_roots = [\n  \"/home/a/.cache\",\n  'rel',\n  '/home/a/go',\n]\n",
			`permissions.gl={extends=":workspace",filesystem={"/home/a/.cache"="write","/home/a/go"="write",` + files + `}}`},
		{"dotted keys", "sandbox_workspace_write.network_access = true\n",
			`permissions.gl={extends=":workspace",filesystem={` + files +
				`},network={enabled=true}}`},
		{"a list that isn't closed", "[sandbox_workspace_write]\nwritable_roots = [\"/a", `permissions.gl={extends=":workspace",filesystem={` + files + `}}`},
	} {
		got := CodexSandbox([]string{"codex", "exec", "-s", "workspace-write", "-C", "/w", "do"},
			places, c.config)
		want := []string{"codex", "exec", "-c", `default_permissions="gl"`, "-c", c.profile,
			"-C", "/w", "do"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	for _, argv := range [][]string{{"codex", "exec", "-s", "danger-full-access", "do"}, {"codex", "exec", "do"}, {"codex", "-s"}} {
		if got := CodexSandbox(argv, places, ""); !slices.Equal(got, argv) {
			t.Errorf("%q became %q", argv, got)
		}
	}
}

func TestCodexInSandbox(t *testing.T) {
	for arg, want := range map[string]string{"workspace-write": "danger-full-access", "read-only": "read-only"} {
		if got := CodexInSandbox([]string{"codex", "exec", "-s", arg, "do"}); got[3] != want {
			t.Errorf("-s %s became %q", arg, got)
		}
	}
}
