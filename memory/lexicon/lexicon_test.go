package lexicon

import "testing"

func similarity(a, b string) float64 { return PlaceOf(a).Similarity(PlaceOf(b)) }

func TestSimilarityOrdersWords(t *testing.T) {
	for _, c := range []struct{ word, near, far string }{
		{"car", "vehicle", "kitchen"},
		{"dentist", "doctor", "database"},
		{"medication", "pills", "deadline"},
		{"postgres", "mysql", "salary"},
		{"coffee", "tea", "server"},
		{"violin", "instrument", "budget"},
		{"cats", "dog", "deployment"},
	} {
		near, far := similarity(c.word, c.near), similarity(c.word, c.far)
		if near < 0.3 || far > 0.2 {
			t.Errorf("%s: %s %.2f, %s %.2f", c.word, c.near, near, c.far, far)
		}
	}
}

func TestSimilarityOfEqualAndUnknownWords(t *testing.T) {
	if got := similarity("car", "car"); got < 0.999 || got > 1.001 {
		t.Errorf("similarity of a word with itself: %v", got)
	}
	if got := similarity("zzxqy", "car"); got != 0 {
		t.Errorf("similarity with an unknown word: %v", got)
	}
	if a, b := similarity("car", "road"), similarity("road", "car"); a != b {
		t.Errorf("not symmetric: %v and %v", a, b)
	}
}

func TestRarity(t *testing.T) {
	if common, rare, unknown := Rarity("the"), Rarity("dentist"), Rarity("zzxqy"); common >= rare || rare >= unknown ||
		unknown != 1 {
		t.Errorf("the %v, dentist %v, unknown %v", common, rare, unknown)
	}
}

func TestVectorsOfTexts(t *testing.T) {
	sum := func(list ...string) *Vector {
		var v Vector
		for _, w := range list {
			v.Add(w, Rarity(w))
		}
		return &v
	}
	a, b, c := sum("drives", "car"), sum("owns", "vehicle"), sum("favourite", "dish")
	if a.Cosine(b) <= a.Cosine(c) {
		t.Errorf("%.2f is not above %.2f", a.Cosine(b), a.Cosine(c))
	}
	if got := a.Cosine(&Vector{}); got != 0 {
		t.Errorf("cosine with an empty vector: %v", got)
	}
}

func TestReadRefusesTruncatedTable(t *testing.T) {
	if _, err := read(packed[:len(packed)/2]); err == nil {
		t.Error("no error for half a table")
	}
	if _, err := read(nil); err == nil {
		t.Error("no error for an empty table")
	}
}

func BenchmarkSimilarity(b *testing.B) {
	for b.Loop() {
		similarity("car", "vehicle")
	}
}
