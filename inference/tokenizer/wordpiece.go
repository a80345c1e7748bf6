package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// WordPiece cuts text into the tokens of a BERT vocabulary, as defined by a tokenizer.json in Hugging Face's format.
// The tokenizer of hugot's Go backend is not used: it turns words with accents or Hangul into the unknown token, takes
// time that grows with the square of a word's length, ends the process on some inputs, and takes "[SEP]" in a text for
// its end. Here "[SEP]" is ordinary text, and reading stops at the model's limit.
type WordPiece struct {
	vocab        map[string]int32
	continuation string // the prefix of a token that continues a word
	maxWord      int    // runes; a longer word is unknown
	unknown      int32
	start, end   int32
	clean        bool // drop control characters
	ideographs   bool // every CJK ideograph is a word
	lower, strip bool // fold case; drop accents
	size         int
}

// NewWordPiece reads tokenizer.json. If lower is set, it folds case even if the file does not. Errors name the part of
// the file that is not supported.
func NewWordPiece(raw []byte, lower bool) (*WordPiece, error) {
	w, special, err := readWordPiece(raw, lower)
	if err != nil {
		return nil, err
	}
	for _, s := range special {
		known, ok := w.vocab[s.token]
		if !ok {
			return nil, fmt.Errorf("names the special token %q, which its vocabulary lacks", s.token)
		}
		*s.id = known
	}
	return w, nil
}

// special is a token that is not text, with the place of its id.
type special struct {
	token string
	id    *int32
}

// readWordPiece reads tokenizer.json, and returns the special tokens that it names: the unknown one, and those that
// frame a text.
func readWordPiece(raw []byte, lower bool) (*WordPiece, []special, error) {
	type piece struct {
		SpecialToken *struct{ ID string }
		Sequence     *struct{ ID string }
	}
	var file struct {
		Normalizer *struct {
			Type               string
			CleanText          *bool `json:"clean_text"`
			HandleChineseChars *bool `json:"handle_chinese_chars"`
			StripAccents       *bool `json:"strip_accents"`
			Lowercase          *bool `json:"lowercase"`
		}
		PreTokenizer  *struct{ Type string } `json:"pre_tokenizer"`
		PostProcessor *struct {
			Type     string
			Single   []piece
			Cls, Sep []any
		} `json:"post_processor"`
		Model struct {
			Type     string
			Unknown  string `json:"unk_token"`
			Prefix   string `json:"continuing_subword_prefix"`
			MaxChars int    `json:"max_input_chars_per_word"`
			Vocab    json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, nil, fmt.Errorf("is not the JSON of a tokenizer: %w", err)
	}
	if file.Model.Type != "WordPiece" {
		return nil, nil, fmt.Errorf(
			"is of kind %q; only WordPiece is supported, which English models of the families "+
				"MiniLM, bge, e5, gte and arctic have",
			file.Model.Type,
		)
	}
	w := &WordPiece{
		continuation: file.Model.Prefix,
		maxWord:      file.Model.MaxChars,
		clean:        true,
		ideographs:   true,
		lower:        lower,
	}
	if w.maxWord <= 0 {
		w.maxWord = 100
	}
	if err := json.Unmarshal(file.Model.Vocab, &w.vocab); err != nil {
		return nil, nil, fmt.Errorf("has no vocabulary: %w", err)
	}
	if file.PreTokenizer == nil || file.PreTokenizer.Type != "BertPreTokenizer" {
		return nil, nil, errors.New("has another pre_tokenizer than BertPreTokenizer")
	}
	n := file.Normalizer
	if n == nil || n.Type != "BertNormalizer" {
		return nil, nil, errors.New("has another normalizer than BertNormalizer")
	}
	set := func(to *bool, from *bool) {
		if from != nil {
			*to = *from
		}
	}
	set(&w.clean, n.CleanText)
	set(&w.ideographs, n.HandleChineseChars)
	if n.Lowercase != nil && *n.Lowercase {
		w.lower = true
	}
	w.strip = n.Lowercase != nil && *n.Lowercase // null means the same as lowercase
	set(&w.strip, n.StripAccents)

	start, end := "[CLS]", "[SEP]"
	if p := file.PostProcessor; p != nil {
		switch {
		case len(p.Single) == 3 && p.Single[0].SpecialToken != nil && p.Single[1].Sequence != nil &&
			p.Single[2].SpecialToken != nil:
			start, end = p.Single[0].SpecialToken.ID, p.Single[2].SpecialToken.ID
		case p.Type == "BertProcessing" && len(p.Cls) > 0 && len(p.Sep) > 0:
			start, end = fmt.Sprint(p.Cls[0]), fmt.Sprint(p.Sep[0])
		default:
			return nil, nil,
				errors.New("has a post_processor that does not put one token before and one after the text")
		}
	}
	var err error
	if w.size, err = size(w.vocab); err != nil {
		return nil, nil, err
	}
	return w, []special{{file.Model.Unknown, &w.unknown}, {start, &w.start}, {end, &w.end}}, nil
}

// Size implements Tokenizer.
func (w *WordPiece) Size() int { return w.size }

// Tokens implements Tokenizer.
func (w *WordPiece) Tokens(text string, limit int) []int32 {
	framed := w.Framed(text, limit+2)
	framed = framed[1 : len(framed)-1]
	return slices.DeleteFunc(framed, func(id int32) bool { return id < 0 })
}

// Framed returns at most limit token ids of text, with the two that frame it.
func (w *WordPiece) Framed(text string, limit int) []int32 {
	out := append(make([]int32, 0, min(limit, 2+len(text)/2)), w.start)
	word := make([]byte, 0, 64)
	room := limit - 1 // the last place is for the end token
	flush := func() {
		if len(word) > 0 {
			out = w.appendWord(out, word)
			word = word[:0]
		}
	}
	for _, r := range text {
		if len(out) >= room {
			break
		}
		switch {
		case unicode.IsSpace(r):
			flush()
		case w.clean && (r == 0 || r == utf8.RuneError || unicode.In(r, unicode.C)):
			// dropped: the word continues
		case w.ideographs && isIdeograph(r), isPunctuation(r): // a word of one character
			flush()
			word = utf8.AppendRune(word, r)
			flush()
		default:
			if len(word) < 4*utf8.UTFMax*w.maxWord { // enough to know that it is too long
				word = utf8.AppendRune(word, r)
			}
		}
	}
	flush()
	return append(out[:min(len(out), room)], w.end)
}

// appendWord appends the tokens of the text between two spaces.
func (w *WordPiece) appendWord(out []int32, raw []byte) []int32 {
	if w.strip {
		raw = norm.NFD.Bytes(raw)
	}
	word := make([]rune, 0, len(raw))
	flush := func() {
		if len(word) > 0 {
			out = w.appendPieces(out, word)
			word = word[:0]
		}
	}
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		raw = raw[n:]
		if w.strip && unicode.Is(unicode.Mn, r) {
			continue
		}
		if w.lower {
			r = unicode.ToLower(r)
		}
		if isPunctuation(r) {
			flush()
			out = w.appendPieces(out, []rune{r})
			continue
		}
		word = append(word, r)
	}
	flush()
	return out
}

// appendPieces appends the longest pieces of the vocabulary that spell the word, or the unknown token.
func (w *WordPiece) appendPieces(out []int32, word []rune) []int32 {
	if len(word) > w.maxWord {
		return append(out, w.unknown)
	}
	known := len(out)
	for at := 0; at < len(word); {
		to := len(word)
		for ; to > at; to-- {
			piece := string(word[at:to])
			if at > 0 {
				piece = w.continuation + piece
			}
			if id, ok := w.vocab[piece]; ok {
				out = append(out, id)
				break
			}
		}
		if to == at {
			return append(out[:known], w.unknown)
		}
		at = to
	}
	return out
}

// isPunctuation reports whether r is punctuation for BERT: an ASCII character that is not a letter, digit, space or
// control character, or Unicode punctuation.
func isPunctuation(r rune) bool {
	return r >= 33 && r <= 47 || r >= 58 && r <= 64 || r >= 91 && r <= 96 || r >= 123 && r <= 126 || unicode.IsPunct(r)
}

func isIdeograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2CEAF ||
		r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x2F800 && r <= 0x2FA1F
}
