package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits that are checked before a record is decoded.
const (
	MaxDepth = 32     // levels of arrays and objects
	MaxItems = 10_000 // elements of an array, members of an object

	maxNumberLength = 400 // characters; float64 has at most 309 digits before the point
	maxScanProblems = 20
)

// plainName matches member names that errors may show. Other names may be data, such as keys of conditions or of
// arguments that an agent chose.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// Join returns the path of a member of the object at path.
func Join(path, name string) string {
	if !plainName.MatchString(name) {
		name = "(other)"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// frame is an open array or object.
type frame struct {
	keys  map[string]struct{} // of an object; nil for an array
	key   string              // name of the member that is being read
	n     int                 // members or elements so far
	named bool                // the member's name has been read, its value has not
}

// scanner reads JSON token by token. It keeps only the member names of open objects.
type scanner struct {
	p     *Problems
	root  string
	stack []frame
	size  int // bytes of names and values, without escapes, quotes and spaces
	fatal bool
}

// Scan finds input that must not be decoded or cannot be stored: nesting deeper than maxDepth, arrays and objects with
// more than MaxItems, duplicate names, text that Postgres cannot store, and numbers outside float64. It adds problems
// to p under root. It returns the number of bytes of text and numbers, and whether the value may be decoded.
func Scan(data []byte, root string, maxDepth, maxBytes int, p *Problems) (size int, ok bool) {
	s := scanner{p: p, root: root}
	if len(data) > maxBytes {
		s.stop(RootName(root), "must be at most %d bytes", maxBytes)
		return 0, false
	}
	before := len(p.Fields)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for !s.fatal {
		start := dec.InputOffset()
		token, err := dec.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) || len(s.stack) > 0 || start == 0 {
				problem := JSONProblem(err)
				s.stop(RootName(root), "%s", problem.Problem)
			}
			break
		}
		s.token(token, data[start:dec.InputOffset()], maxDepth)
		if len(s.stack) == 0 && !s.fatal {
			if _, err := dec.Token(); !errors.Is(err, io.EOF) {
				s.stop(RootName(root), "has something after its end")
			}
			break
		}
	}
	return s.size, !s.fatal && len(p.Fields) == before
}

// RootName returns the name of the value itself.
func RootName(root string) string {
	if root == "" {
		return "(json)"
	}
	return root
}

func (s *scanner) stop(path, format string, args ...any) {
	s.p.Add(path, format, args...)
	s.fatal = true
}

func (s *scanner) add(format string, args ...any) {
	s.p.Add(s.path(), format, args...)
	s.fatal = len(s.p.Fields) >= maxScanProblems
}

// path returns the path of the value that is being read.
func (s *scanner) path() string {
	var b strings.Builder
	b.WriteString(s.root)
	for _, f := range s.stack {
		switch {
		case f.keys == nil:
			fmt.Fprintf(&b, "[%d]", max(f.n-1, 0))
		case f.named:
			path := Join(b.String(), f.key)
			b.Reset()
			b.WriteString(path)
		}
	}
	return RootName(b.String())
}

func (s *scanner) token(token json.Token, raw []byte, maxDepth int) {
	if d, ok := token.(json.Delim); ok && (d == '}' || d == ']') {
		s.stack = s.stack[:len(s.stack)-1]
		s.done()
		return
	}
	if len(s.stack) > 0 {
		if top := &s.stack[len(s.stack)-1]; top.keys == nil {
			if top.n++; top.n > MaxItems {
				s.stack = s.stack[:len(s.stack)-1]
				s.stop(s.path(), "must hold at most %d elements", MaxItems)
				return
			}
		} else if !top.named {
			s.name(top, token.(string), raw)
			return
		}
	}
	switch v := token.(type) {
	case json.Delim:
		if len(s.stack) == maxDepth {
			s.stop(s.path(), "is nested deeper than %d levels", MaxDepth)
			return
		}
		f := frame{}
		if v == '{' {
			f.keys = make(map[string]struct{})
		}
		s.stack = append(s.stack, f)
		return
	case string:
		s.size += len(v)
		s.text(v, raw)
	case json.Number:
		s.size += len(v)
		s.number(v)
	default:
		s.size += 4
	}
	s.done()
}

// done is called after a value has been read.
func (s *scanner) done() {
	if len(s.stack) > 0 {
		s.stack[len(s.stack)-1].named = false
	}
}

func (s *scanner) name(top *frame, name string, raw []byte) {
	s.size += len(name)
	s.text(name, raw)
	if top.n++; top.n > MaxItems {
		s.stop(s.path(), "must hold at most %d members", MaxItems)
		return
	}
	_, twice := top.keys[name]
	top.keys[name] = struct{}{}
	top.key, top.named = name, true
	if twice {
		s.add("is given twice")
	}
}

// text reports a text that Postgres text or jsonb cannot store unchanged.
func (s *scanner) text(v string, raw []byte) {
	switch {
	case strings.ContainsRune(v, 0):
		s.add("contains a NUL character")
	case !strings.ContainsRune(v, utf8.RuneError):
	case !utf8.Valid(raw):
		s.add("is not valid UTF-8")
	case loneSurrogate(raw):
		s.add("contains half of a surrogate pair")
	}
}

// loneSurrogate reports whether an encoded JSON string has an escaped surrogate without its partner. Decoders replace
// it silently, and Postgres refuses it.
func loneSurrogate(raw []byte) bool {
	unit := func(at int) (uint64, bool) {
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return 0, false
		}
		u, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 32)
		return u, err == nil
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		u, ok := unit(i)
		switch {
		case !ok:
			i++ // another escape
		case u >= 0xd800 && u < 0xdc00:
			low, ok := unit(i + 6)
			if !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 11
		case u >= 0xdc00 && u <= 0xdfff:
			return true
		default:
			i += 5
		}
	}
	return false
}

func (s *scanner) number(n json.Number) {
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case len(n) > maxNumberLength:
		s.add("is a number of more than %d characters", maxNumberLength)
	case err != nil || math.IsInf(f, 0):
		s.add("is a number too large to keep")
	case f == 0 && strings.ContainsAny(mantissa(string(n)), "123456789"):
		s.add("is a number too small to keep")
	}
}

// mantissa returns a number without its exponent.
func mantissa(n string) string {
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		return n[:i]
	}
	return n
}

// BuildTree decodes a scanned value. Numbers keep their digits.
func BuildTree(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// EncodeTree encodes a tree with sorted names and without unnecessary escapes.
func EncodeTree(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
