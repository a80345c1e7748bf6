package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/schema"
)

// Formats of an import.
const (
	formatMneme    = "mneme" // candidates, or an export
	formatLocomo   = "locomo"
	formatMem0     = "mem0"
	formatMembrane = "membrane"
)

var importFormats = []string{formatMneme, formatLocomo, formatMem0, formatMembrane}

// maxLine bounds one line: a whole conversation of LoCoMo is one.
const maxLine = 64 << 20

// item is one candidate with where it comes from.
type item struct {
	line      int
	consumed  int64 // bytes of input that are done with once this one is, for the progress bar
	candidate schema.Candidate
}

// lineError says what is wrong with a line. It never quotes the line.
type lineError struct {
	Line   int                 `json:"line"`
	Fields []schema.FieldError `json:"fields"`
}

func (e lineError) String() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Error()
	}
	return fmt.Sprintf("line %d: %s", e.Line, strings.Join(parts, "; "))
}

// reader reads candidates from lines of JSON.
type reader struct {
	oversized    schema.Oversized
	format       string
	conversation string // with locomo: only this one
	bad          func(lineError)
	items        []item // when set, what has been read already
}

// each calls fn for every good line in order, and r.bad for every bad one.
func (r *reader) each(input io.Reader, fn func(item) error) error {
	if r.items != nil {
		for _, it := range r.items {
			if err := fn(it); err != nil {
				return err
			}
		}
		return nil
	}
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n, found := 0, false
	consumed := int64(0) // read, and not yet part of an item
	for lines.Scan() {
		n++
		data := lines.Bytes()
		size := int64(len(data) + 1)
		if n == 1 {
			data = bytes.TrimPrefix(data, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(data)) == 0 {
			consumed += size
			continue
		}
		candidates, err := r.decode(data, &found)
		if err != nil {
			r.bad(lineError{Line: n, Fields: fieldsOf(err)})
		}
		if err != nil || len(candidates) == 0 {
			consumed += size
			continue
		}
		for i, c := range candidates {
			share := int64(len(candidates))
			consumed += size*int64(i+1)/share - size*int64(i)/share
			if err := checkCandidate(c, r.oversized); err != nil {
				r.bad(lineError{Line: n, Fields: fieldsOf(err)})
				continue
			}
			if err := fn(item{line: n, consumed: consumed, candidate: c}); err != nil {
				return err
			}
			consumed = 0
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return invalid(fmt.Sprintf("line %d", n+1), "is longer than %d MiB", maxLine>>20)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	if r.conversation != "" && !found {
		return &codedError{exitNotFound, errors.New("the file has no such conversation")}
	}
	return nil
}

func (r *reader) decode(line []byte, found *bool) ([]schema.Candidate, error) {
	if !utf8.Valid(line) { // the JSON decoder would put replacement characters in
		return nil, invalid("(json)", "is not valid UTF-8")
	}
	if r.format == formatLocomo {
		var conversation locomoConversation
		if err := json.Unmarshal(line, &conversation); err != nil || conversation.ID == "" {
			return nil, invalid("(json)", "is not a LoCoMo conversation")
		}
		if r.conversation != "" && r.conversation != conversation.ID {
			return nil, nil
		}
		*found = true
		return conversation.candidates()
	}
	c, err := schema.DecodeCandidate(line)
	return []schema.Candidate{c}, err
}

// checkCandidate reports every field of a candidate that is wrong.
func checkCandidate(c schema.Candidate, oversized schema.Oversized) error {
	req := schema.IngestRequest{Oversized: oversized, Principal: schema.Principal{Tenant: "any", Agent: "any"}, Candidates: []schema.Candidate{c}}
	return forFlags(req.Validate())
}

func fieldsOf(err error) []schema.FieldError {
	var bad *schema.ValidationError
	if errors.As(err, &bad) {
		return bad.Fields
	}
	return []schema.FieldError{{Field: "(line)", Problem: err.Error()}}
}

// batch is what goes in as one request.
type batch struct {
	candidates  []schema.Candidate
	first, last int // lines
	bytes       int // of the candidates as JSON
	consumed    int64
}

// batcher puts items together to batches. What the batches hold depends only on the input, so that
// running an import again makes the same ones.
type batcher struct {
	size, bytes int
	full        func(batch) error
	next        batch
}

func (b *batcher) add(it item) error {
	encoded, err := json.Marshal(it.candidate)
	if err != nil {
		return fmt.Errorf("line %d: %w", it.line, err)
	}
	if len(b.next.candidates) == b.size || len(b.next.candidates) > 0 && b.next.bytes+len(encoded) > b.bytes {
		if err := b.flush(); err != nil {
			return err
		}
	}
	n := &b.next
	if len(n.candidates) == 0 {
		n.first = it.line
	}
	n.last = it.line
	n.candidates = append(n.candidates, it.candidate)
	n.bytes += len(encoded)
	n.consumed += it.consumed
	return nil
}

func (b *batcher) flush() error {
	out := b.next
	b.next = batch{}
	return b.full(out)
}
