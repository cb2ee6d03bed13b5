package sandbox

import (
	"path/filepath"
	"strings"

	"greenlight/internal/base/environ"
)

// A secret is a file or directory in HOME that no agent sees.
type secret struct {
	// relative to HOME; for .config and .local/share, also relative to XDG_CONFIG_HOME and
	// XDG_DATA_HOME
	path     string
	variable string // variable that may name another place, or several
	why      string
}

// secrets lists what gives access to more than this machine's files: keys, tokens, sessions;
// and shell histories, because they may contain passwords. An agent's own login is up to the
// agent: see package agent.
var secrets = []secret{
	{".ssh", "", "private keys"},
	{".gnupg", "GNUPGHOME", "private keys, and the sockets of gpg-agent"},
	{".password-store", "PASSWORD_STORE_DIR", "passwords"},
	{".config/age", "", "private keys"},
	{".config/sops", "SOPS_AGE_KEY_FILE", "private keys"},
	{".local/share/keyrings", "", "passwords: GNOME"},
	{".local/share/kwalletd", "", "passwords: KDE"},
	{".config/keepassxc", "", "passwords"},
	{".config/1Password", "", "passwords, and a socket"},
	{".1password", "", "the socket of an agent"},
	{".config/op", "", "sessions of 1Password"},
	{".config/Bitwarden", "", "passwords"},
	{".config/Bitwarden CLI", "", "passwords"},

	{".aws", "", "cloud credentials"},
	{".aws/credentials", "AWS_SHARED_CREDENTIALS_FILE", "cloud credentials"},
	{".aws/config", "AWS_CONFIG_FILE", "cloud credentials"},
	{".azure", "AZURE_CONFIG_DIR", "cloud credentials"},
	{".config/gcloud", "CLOUDSDK_CONFIG", "cloud credentials"},
	{".config/gcloud/application_default_credentials.json", "GOOGLE_APPLICATION_CREDENTIALS",
		"cloud credentials"},
	{".kube", "KUBECONFIG", "clusters"},
	{".docker", "DOCKER_CONFIG", "registries, and sockets"},
	{".config/containers/auth.json", "REGISTRY_AUTH_FILE", "registries"},
	{".colima", "", "sockets of container services"},
	{".lima", "", "sockets of container services"},
	{".config/doctl", "", "cloud credentials"},
	{".config/hcloud", "", "cloud credentials"},
	{".oci", "", "cloud credentials"},
	{".fly", "", "cloud credentials"},
	{".config/heroku", "", "cloud credentials"},
	{".config/netlify", "", "cloud credentials"},
	{".local/share/com.vercel.cli", "", "cloud credentials"},
	{".config/rclone", "RCLONE_CONFIG", "cloud credentials"},
	{".terraform.d/credentials.tfrc.json", "", "tokens"},
	{".terraformrc", "", "tokens"},
	{".pulumi/credentials.json", "", "tokens"},
	{".vault-token", "", "a token"},

	{".config/gh", "GH_CONFIG_DIR", "tokens for GitHub"},
	{".config/glab-cli", "GLAB_CONFIG_DIR", "tokens for GitLab"},
	{".config/hub", "", "tokens for GitHub"},
	{".git-credentials", "", "passwords"},
	{".config/git/credentials", "", "passwords"},
	{".netrc", "NETRC", "passwords"},
	{".npmrc", "NPM_CONFIG_USERCONFIG", "tokens, beside settings that an agent may miss"},
	{".npmrc", "npm_config_userconfig", "tokens"},
	{".yarnrc", "", "tokens"},
	{".yarnrc.yml", "", "tokens"},
	{".pypirc", "", "passwords"},
	{".config/pip", "PIP_CONFIG_FILE", "passwords in the addresses of indexes"},
	{".cargo/credentials", "", "tokens"},
	{".cargo/credentials.toml", "", "tokens"},
	{".gem/credentials", "", "tokens"},
	{".m2/settings.xml", "", "passwords"},
	{".m2/settings-security.xml", "", "passwords"},
	{".gradle/gradle.properties", "", "passwords"},
	{".composer/auth.json", "", "tokens"},
	{".config/composer/auth.json", "", "tokens"},
	{".nuget/NuGet", "", "tokens"},
	{".pgpass", "PGPASSFILE", "passwords"},
	{".my.cnf", "", "passwords"},
	{".mylogin.cnf", "", "passwords"},

	{".mozilla", "", "cookies and passwords of a browser"},
	{".thunderbird", "", "mail and passwords"},
	{".config/google-chrome", "", "cookies and passwords of a browser"},
	{".config/chromium", "", "cookies and passwords of a browser"},
	{".config/BraveSoftware", "", "cookies and passwords of a browser"},
	{".config/microsoft-edge", "", "cookies and passwords of a browser"},
	{".config/vivaldi", "", "cookies and passwords of a browser"},
	{".config/opera", "", "cookies and passwords of a browser"},
	{"snap/firefox", "", "cookies and passwords of a browser"},
	{"snap/chromium", "", "cookies and passwords of a browser"},
	{".var/app", "", "data of Flatpak's programs, browsers among them"},
	{".config/Slack", "", "sessions"},
	{".config/discord", "", "sessions"},
	{".config/Signal", "", "messages"},
	{".Xauthority", "XAUTHORITY", "access to the display"},
	{".ICEauthority", "ICEAUTHORITY", "access to the session"},

	{".bash_history", "HISTFILE", "what was typed"},
	{".zsh_history", "", "what was typed"},
	{".local/share/fish/fish_history", "", "what was typed"},
	{".python_history", "", "what was typed"},
	{".node_repl_history", "", "what was typed"},
	{".psql_history", "PSQL_HISTORY", "what was typed"},
	{".mysql_history", "MYSQL_HISTFILE", "what was typed"},
	{".sqlite_history", "", "what was typed"},
	{".rediscli_history", "", "what was typed"},
}

// secretPaths returns the possible locations of the secrets.
func secretPaths(home string, env environ.Environ) []string {
	var list []string
	for _, s := range secrets {
		list = append(list, filepath.Join(home, s.path))
		for prefix, variable := range map[string]string{".config/": "XDG_CONFIG_HOME",
			".local/share/": "XDG_DATA_HOME"} {
			if rest, ok := strings.CutPrefix(s.path, prefix); ok &&
				filepath.IsAbs(env.Get(variable)) {
				list = append(list, filepath.Join(env.Get(variable), rest))
			}
		}
		for _, path := range filepath.SplitList(env.Get(s.variable)) {
			if path = filepath.Clean(path); filepath.IsAbs(path) && path != home && path != "/" {
				list = append(list, path)
			}
		}
	}
	return list
}

// A cache is a directory in HOME that programs fill, and that the same programs trust outside
// the sandbox: what is put into Go's build cache or npm's runs there later. So separate caches
// replace those in HOME.
type cache struct {
	path     string
	variable string // variable that names another place
}

var caches = []cache{
	{".cache", "XDG_CACHE_HOME"},
	{".npm", "npm_config_cache"},
	{"go/pkg/mod", "GOMODCACHE"},
	{".cargo/registry", ""},
	{".cargo/git", ""},
	{".gradle/caches", ""},
	{".m2/repository", ""},
	{".nuget/packages", "NUGET_PACKAGES"},
	{".local/share/pnpm/store", ""},
	{".bun/install/cache", "BUN_INSTALL_CACHE_DIR"},
	{".yarn/berry/cache", ""},
	{".composer/cache", "COMPOSER_CACHE_DIR"},
	{".deno", "DENO_DIR"},
}

// ExpandHome expands a path from a setting, with ~ for HOME.
func ExpandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return filepath.Clean(path)
}
