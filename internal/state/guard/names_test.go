package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"greenlight/internal/state/guard"
)

// Each language with its tests, in order; a skipped one ends in a dash.
func TestTestNames(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a_test.go", "func TestA(t *testing.T) {\n\tx()\n}\n// func TestB(t *testing.T) {}\nfunc (s *Suite) TestC() {}\nfunc TestD(t *testing.T) {\n\tt.Skip(\"no\")\n}\nfunc helper() {}\n", "TestA TestC TestD-"},
		{"a_test.go", "//go:build never\n\npackage a\nfunc TestA(t *testing.T) {}\n", "TestA-"},
		{"a.test.ts", "describe('math', () => {\n  it(\"adds\", () => {})\n  it.skip('subs', f)\n  xit(`muls`, f)\n  test.each([1])('div %i', f)\n  // it('no', f)\n})\n", "math adds subs- muls- div %i"},
		{"a.spec.js", "it.only('a', f)\nit('b', f)\n", "a- b-"},
		{"test_a.py", "def test_a():\n    assert 1\n\n@pytest.mark.skip\ndef test_b():\n    pass\nclass TestC:\n    def test_d(self):\n        pytest.skip('x')\n", "test_a test_b- TestC test_d-"},
		{"src/lib.rs", "#[cfg(test)]\nmod tests {\n#[test]\nfn a() {}\n#[test]\n#[ignore]\nfn b() {}\n#[tokio::test]\nasync fn c() {}\n}\n", "a b- c"},
		{"ATest.java", "@Test\nvoid a() {}\n@Disabled\n@Test\npublic void b() {}\n@ParameterizedTest(name = \"x\")\n@ValueSource(ints = {1})\nvoid c(int i) {}\n", "a b- c"},
		{"ATest.kt", "@Test\nfun `is green`() {}\n", "is green"},
		{"ATests.cs", "[Fact]\npublic void A() {}\n[Fact(Skip = \"x\")]\npublic async Task B() {}\n", "A B-"},
		{"a_spec.rb", "describe 'x' do\n  it 'a' do\n  end\n  xit \"b\" do\n  end\nend\n", "x a b-"},
		{"a_test.rb", "def test_a\n  skip\nend\ndef test_b\nend\n", "test_a- test_b"},
		{"ATest.php", "public function testA() {}\n#[Test]\npublic function b() { $this->markTestSkipped(); }\n", "testA b-"},
		{"a_test.exs", "test \"a\" do\nend\n@tag :skip\ntest \"b\" do\nend\n", "a b-"},
		{"ATests.swift", "func testA() {}\nfunc testB() throws { throw XCTSkip() }\n", "testA testB-"},
		{"a_test.dart", "test('a', () {});\ntest('b', () {}, skip: true);\n", "a b-"},
		{"a_test.cc", "TEST(Suite, A) {}\nTEST_F(Suite, DISABLED_B) {}\n", "Suite, A Suite, DISABLED_B-"},
		{"a.bats", "@test \"a\" {\n}\n@test 'b' {\n  skip\n}\n", "a b-"},
		{"a.feature", "Scenario: A b\n  Given x\n@wip\nScenario: C\n", "A b C-"},
		{"a_test.lua", "it('a', f)\n", "a"},
		{"a_test.clj", "(deftest a-test\n (is 1))\n", "a-test"},
		{"a_test.jl", "@testset \"a\" begin\nend\n", "a"},
		{"a_test.erl", "a_test() -> ok.\n", "a_test"},
		{"a.t", "subtest 'a' => sub {};\n", "a"},
		{"a.zig", "test \"a\" {\n}\n", "a"},
		{"a_test.scala", "test(\"a\") {}\n", "a"},
	} {
		names, known := guard.TestNames(c.file, []byte(c.text))
		var got []string
		for _, n := range names {
			name := n.Name
			if n.Skipped {
				name += "-"
			}
			got = append(got, name)
		}
		if !known || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, known %v, want %q", c.file, strings.Join(got, " "), known, c.want)
		}
	}
	if _, known := guard.TestNames("a.hs", nil); known {
		t.Error("a language that isn't in the table is known")
	}
	if names, _ := guard.TestNames("a_test.go", []byte("func TestA(t *testing.T) {\n\tx()\n\n\ty()\n}\n")); fmt.Sprint(names) != "[{TestA false 4}]" {
		t.Error(names)
	}
}
