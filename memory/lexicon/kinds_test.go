package lexicon

import (
	"slices"
	"testing"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, kind string
		want       bool
	}{
		{"violin", "instrument", true},
		{"guitars", "instruments", true},
		{"swimming", "sport", true},
		{"beagle", "dog", true},
		{"beagle", "animal", true},
		{"oslo", "city", true},
		{"norway", "country", true},
		{"portuguese", "language", true},
		{"postgres", "database", true},
		{"rust", "language", true},
		{"nurse", "job", true},
		{"mango", "fruit", true},
		{"dog", "beagle", false},
		{"instrument", "instrument", false},
		{"violin", "city", false},
		{"kitchen", "animal", false},
		{"xyzzy", "animal", false},
		{"dog", "xyzzy", false},
	} {
		if got := PlaceOf(c.word).IsA(PlaceOf(c.kind)); got != c.want {
			t.Errorf("%s is a %s: %v", c.word, c.kind, got)
		}
	}
}

func TestMembersOf(t *testing.T) {
	t.Parallel()
	sports := MembersOf("sports", 20)
	if len(sports) != 20 || !slices.Contains(sports, "tennis") || slices.Contains(sports, "sport") {
		t.Errorf("sports: %v", sports)
	}
	if got := MembersOf("xyzzy", 20); got != nil {
		t.Errorf("xyzzy: %v", got)
	}
	if got := MembersOf("thing", 20); len(got) == 20 {
		t.Errorf("thing: %v", got)
	}
}

func TestReadKindsRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	for _, packed := range [][]byte{nil, []byte("words"), packed} {
		if _, err := readKinds(packed); err == nil {
			t.Errorf("%d bytes were read", len(packed))
		}
	}
}
