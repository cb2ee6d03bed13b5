package conflict

import "testing"

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		whole      bool
	}{
		{"nothing", "", 0, false},
		{"a conflict", "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n", 2, true},
		{"with the base, and \\r\\n", "<<<<<<< a\r\n1\r\n||||||| b\r\n2\r\n=======\r\n3\r\n>>>>>>> c", 1, true},
		{"without labels", "<<<<<<<\n=======\n>>>>>>>", 1, true},
		{"the second of two is whole", "<<<<<<< a\n<<<<<<< b\n=======\n>>>>>>> b\n", 1, true},
		{"a mark left behind", "{\n<<<<<<< HEAD\n}", 2, false},
		{"about conflicts", "git writes\n<<<<<<< HEAD\n", 2, false},
		{"a heading's underline", "Title\n=======\n", 0, false},
		{"marks out of order", "=======\n>>>>>>> x\n<<<<<<< y\n", 3, false},
		{"within a line", "x <<<<<<< y\n", 0, false},
		{"indented, as an example", "    <<<<<<< HEAD\n    =======\n    >>>>>>> x\n", 0, false},
		{"a longer run", "<<<<<<<<\n========\n>>>>>>>>\n", 0, false},
		{"a heading's underline in between", "<<<<<<< a\nTitle\n========\n>>>>>>> b\n", 1, false},
	} {
		if line, whole := Find(c.text); line != c.line || whole != c.whole {
			t.Errorf("%s: %d, %v, want %d, %v", c.name, line, whole, c.line, c.whole)
		}
	}
}

func TestIsMark(t *testing.T) {
	for line, want := range map[string]bool{
		"<<<<<<< HEAD\r\n": true, "=======\n": true, "||||||| 1a2b": true, ">>>>>>>": true,
		"": false, "<<<<<<": false, "<<<<<<<x": false, "=======\t": false, "~~~~~~~\n": false, "<<<<===\n": false,
	} {
		if got := IsMark(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestBoth(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "a\n=======\nb", "a\n=======\nb"},
		{"a conflict", "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\nd\n", "a\nb\nc\nd\n"},
		{"with the base", "<<<<<<< a\n1\n||||||| b\n2\n=======\n3\n>>>>>>> c\n", "1\n3\n"},
		{"what both have at the ends", "<<<<<<<\nh\n1\ne\n=======\nh\n2\ne\n>>>>>>>\n", "h\n1\n2\ne\n"},
		{"the same twice", "<<<<<<<\n1\n1\n=======\n1\n>>>>>>>\n", "1\n1\n"},
		{"two", "<<<<<<<\n1\n=======\n2\n>>>>>>>\n-\n<<<<<<<\n3\n=======\n>>>>>>>\n", "1\n2\n-\n3\n"},
		{"one that isn't whole, and one that is", "<<<<<<< a\n1\n<<<<<<< b\n2\n=======\n3\n>>>>>>> b\n", "<<<<<<< a\n1\n2\n3\n"},
		{"without an end", "0\n<<<<<<< a\n1\n=======\n2", "0\n<<<<<<< a\n1\n=======\n2"},
		{"an end without a middle", "<<<<<<< a\n1\n>>>>>>> b\n", "<<<<<<< a\n1\n>>>>>>> b\n"},
	} {
		if got := Both(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
