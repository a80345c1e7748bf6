package pg

// Words stores recurring texts of columns once, such as types and names. It belongs to one query.
type Words map[string]string

// Column returns a place to scan a text column into. NULL is the empty text.
func (w Words) Column(to *string) *Word { return &Word{words: w, to: to} }

// Word is a place for one text column.
type Word struct {
	words Words
	to    *string
}

// ScanBytes implements pgtype.BytesScanner.
func (w *Word) ScanBytes(text []byte) error {
	known, ok := w.words[string(text)]
	if !ok {
		known = string(text)
		w.words[known] = known
	}
	*w.to = known
	return nil
}
