// Package browsertest drives the pages of gl web in a real Chromium, as people do: by clicks, by
// keys, without scripts. Its tests have the build tag browser, because the library that talks to
// the browser takes longer to build than gl: make pages runs them.
package browsertest
