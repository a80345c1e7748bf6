package rules

// lightStem removes the common English inflections of a lower-case word: plural and third-person
// s, ed, ing, ly, with the doubling or silent e that goes with them. It is a fraction of the cost
// of a full stemmer and, within one embedding space, about as good. The result shares word's array.
func lightStem(word []byte) []byte {
	w := word
	if n := len(w); n > 3 && w[n-1] == 's' {
		switch {
		case suffix(w, "sses"), suffix(w, "xes"), suffix(w, "ches"), suffix(w, "shes"), suffix(w, "zes"):
			w = w[:n-2]
		case suffix(w, "ies") && n > 4:
			w = w[:n-2] // parties → parti, as party → parti below
		case w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
			w = w[:n-1]
		}
	}
	switch n := len(w); {
	case n > 5 && suffix(w, "ing") && vowel(w[:n-3]):
		w = undouble(w[:n-3])
	case n > 4 && suffix(w, "ied"):
		w = w[:n-1] // tried → tri + e dropped below
	case n > 4 && suffix(w, "ed") && vowel(w[:n-2]) && w[n-3] != 'e':
		w = undouble(w[:n-2])
	case n > 5 && suffix(w, "ly"):
		w = w[:n-2]
	}
	if n := len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	if n := len(w); n > 2 && w[n-1] == 'y' && !isVowel(w[n-2]) {
		w[n-1] = 'i'
	}
	return w
}

func suffix(w []byte, s string) bool {
	return len(w) >= len(s) && string(w[len(w)-len(s):]) == s
}

func vowel(w []byte) bool {
	for _, c := range w {
		if isVowel(c) || c == 'y' {
			return true
		}
	}
	return false
}

func isVowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

// undouble turns "runn" into "run"; l, s and z stay double (call, pass, buzz).
func undouble(w []byte) []byte {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !isVowel(w[n-1]) && w[n-1] != 'l' && w[n-1] != 's' && w[n-1] != 'z' {
		return w[:n-1]
	}
	return w
}
