package testrun

// Language returns the language of the project in the directory and the file that tells it; ""
// if none does. It runs nothing.
func Language(dir string) (name, file string) {
	look := looker(dir)
	for _, l := range languages {
		if look.is(l.file) {
			if l.file == "package.json" && look.is("tsconfig.json") {
				return "TypeScript", "tsconfig.json"
			}
			return l.name, l.file
		}
	}
	return "", ""
}

// languages are checked in order: a package.json is often there for tools alone.
var languages = [...]struct{ file, name string }{
	{"go.mod", "Go"}, {"Cargo.toml", "Rust"}, {"pyproject.toml", "Python"}, {"setup.py", "Python"},
	{"requirements.txt", "Python"}, {"Gemfile", "Ruby"}, {"mix.exs", "Elixir"}, {"composer.json", "PHP"},
	{"build.gradle.kts", "Kotlin"}, {"build.gradle", "Java"}, {"pom.xml", "Java"}, {"Package.swift", "Swift"},
	{"pubspec.yaml", "Dart"}, {"deno.json", "TypeScript"}, {"package.json", "JavaScript"},
	{"CMakeLists.txt", "C++"},
}
