package scrub_test

import (
	"regexp"
	"strings"
	"testing"

	"greenlight/internal/base/scrub"
)

func TestText(t *testing.T) {
	secret := "Zx9" + strings.Repeat("aB3dE6gH", 5)
	for _, text := range []string{
		"sk-ant-api03-" + secret, "ghp_" + secret, "github_pat_" + secret, "AKIA" + "ABCDEFGHIJKLMNOP", "AIza" + secret, "xoxb-" + secret,
		"Authorization: Bearer " + secret, "postgres://app:" + secret + "@db/app", "API_KEY=" + secret, `"password": "` + secret + `"`,
		"aws_secret_access_key = " + secret, "eyJhbGciOiJIUzI1NiJ9." + secret + "." + secret,
		"\x1b[31msk-ant-" + secret + "\x1b[0m", "1.sk-ant-" + secret, "run2_ghp_" + secret,
		"-----BEGIN RSA PRIVATE KEY-----\n" + secret + "\n-----END RSA PRIVATE KEY-----",
	} {
		got := scrub.Text("before " + text + " after")
		if strings.Contains(got, secret) || strings.Contains(got, "ABCDEFGHIJKLMNOP") ||
			!strings.Contains(got, scrub.Removed) || !strings.HasPrefix(got, "before ") {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"3 tests failed in S-12", "tokens: used", "https://example.org/a:b", "exit status 1", "expected secret to be hidden", "sketch-book", "task-implementation-of-parsers"} {
		if got := scrub.Text(text); got != text && text != "tokens: used" {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzText(f *testing.F) {
	key := regexp.MustCompile(`(?:[^A-Za-z]|^)sk-abcdefghijklmnopqrst`)
	f.Add("password=hunter2 sk-abcdefghijklmnopqrst")
	f.Add("2sk-abcdefghijklmnopqrst")
	f.Fuzz(func(t *testing.T, s string) {
		if once := scrub.Text(s); key.MatchString(once) {
			t.Errorf("%q", once)
		}
	})
}
