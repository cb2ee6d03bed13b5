package roster

import (
	"encoding/base64"
	"testing"
)

func FuzzParseToken(f *testing.F) {
	for _, text := range []string{`{}`, `{"pin": "a", "secret": "b", "addresses": ["h:1"]}`, `{"addresses": [":"]}`, `[`} {
		f.Add(tokenStart + base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	f.Add("x")
	f.Add(tokenStart + "=")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err == nil && (token.Pin == "" || token.Secret == "" || CheckAddresses(token.Addresses) != nil) {
			t.Fatalf("%q became %+v", text, token)
		}
	})
}
