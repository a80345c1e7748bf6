package exchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// Formats of an import.
const (
	FormatMneme    = "mneme" // candidates, or an export
	formatLocomo   = "locomo"
	formatMem0     = "mem0"
	formatMembrane = "membrane"
)

var importFormats = []string{FormatMneme, formatLocomo, formatMem0, formatMembrane}

// refuseForRecords refuses the flags of an import that have an effect only on candidates, and more.
func refuseForRecords(flags *pflag.FlagSet, option string, more ...string) error {
	return app.RefuseWith(flags, option, append(more, "no-update-delete", "min-fact-confidence", "batch-size", "parallel",
		"oversized", "wait", "again")...)
}

// refuseForExport refuses the flags of an import that have no effect on an export.
func refuseForExport(flags *pflag.FlagSet) error {
	return refuseForRecords(flags, "an export, whose memories are restored as they were", "visibility", "mode", "agent",
		"project", "scope", "policy-group")
}

// maxLine is the limit of one line: a whole LoCoMo conversation is one line.
const maxLine = 64 << 20

// Item is one candidate and its place in the input.
type Item struct {
	Line      int
	Consumed  int64 // bytes of input up to this item that no earlier item counted; for the progress bar
	Candidate schema.Candidate
}

// LineError is the error of a line. It never quotes the line.
type LineError struct {
	Line   int                 `json:"line"`
	Fields []schema.FieldError `json:"fields"`
}

func (e LineError) String() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Error()
	}
	return fmt.Sprintf("line %d: %s", e.Line, strings.Join(parts, "; "))
}

// Reader reads candidates from lines of JSON.
type Reader struct {
	oversized    schema.Oversized
	Format       string
	conversation string // for LoCoMo: read only this one
	Bad          func(LineError)
	items        []Item // if set, Each returns these instead of reading
}

// Each calls fn for every valid line in order, and r.Bad for every invalid one.
func (r *Reader) Each(input io.Reader, fn func(Item) error) error {
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
	consumed := int64(0) // bytes read that no item counts yet
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
			r.Bad(LineError{Line: n, Fields: FieldsOf(err)})
		}
		if err != nil || len(candidates) == 0 {
			consumed += size
			continue
		}
		for i, c := range candidates {
			share := int64(len(candidates))
			consumed += size*int64(i+1)/share - size*int64(i)/share
			if err := checkCandidate(c, r.oversized); err != nil {
				r.Bad(LineError{Line: n, Fields: FieldsOf(err)})
				continue
			}
			if err := fn(Item{Line: n, Consumed: consumed, Candidate: c}); err != nil {
				return err
			}
			consumed = 0
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return app.Invalid(fmt.Sprintf("line %d", n+1), "is longer than %d MiB", maxLine>>20)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	if r.conversation != "" && !found {
		return app.WithCode(app.ExitNotFound, errors.New("the file has no such conversation"))
	}
	return nil
}

func (r *Reader) decode(line []byte, found *bool) ([]schema.Candidate, error) {
	if !utf8.Valid(line) { // the JSON decoder would put replacement characters in
		return nil, app.Invalid("(json)", "is not valid UTF-8")
	}
	if r.Format == formatLocomo {
		var conversation locomoConversation
		if err := json.Unmarshal(line, &conversation); err != nil || conversation.ID == "" {
			return nil, app.Invalid("(json)", "is not a LoCoMo conversation")
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

// checkCandidate reports every invalid field of a candidate.
func checkCandidate(c schema.Candidate, oversized schema.Oversized) error {
	req := schema.IngestRequest{Oversized: oversized, Principal: schema.Principal{Tenant: "any", Agent: "any"},
		Candidates: []schema.Candidate{c}}
	return app.OfItem("candidates[0]", req.Validate())
}

// FieldsOf returns the problems of a line: those of its fields, or the error as one problem of the whole line.
func FieldsOf(err error) []schema.FieldError {
	var bad *schema.ValidationError
	if errors.As(err, &bad) {
		return bad.Fields
	}
	return []schema.FieldError{{Field: "(line)", Problem: err.Error()}}
}

// Batch is the candidates of one request.
type Batch struct {
	Candidates  []schema.Candidate
	First, Last int // line numbers
	bytes       int // size of the candidates as JSON
	Consumed    int64
}

// Batcher groups items into batches. The batches depend only on the input, so that running an import again makes the
// same batches.
type Batcher struct {
	Size, Bytes int
	Full        func(Batch) error
	next        Batch
}

// Add adds an item. If the batch is full without it, it passes the batch to Full first.
func (b *Batcher) Add(it Item) error {
	encoded, err := json.Marshal(it.Candidate)
	if err != nil {
		return fmt.Errorf("line %d: %w", it.Line, err)
	}
	if len(b.next.Candidates) == b.Size || len(b.next.Candidates) > 0 && b.next.bytes+len(encoded) > b.Bytes {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	n := &b.next
	if len(n.Candidates) == 0 {
		n.First = it.Line
	}
	n.Last = it.Line
	n.Candidates = append(n.Candidates, it.Candidate)
	n.bytes += len(encoded)
	n.Consumed += it.Consumed
	return nil
}

// Flush passes the current batch, which may be empty, to Full, and begins another.
func (b *Batcher) Flush() error {
	out := b.next
	b.next = Batch{}
	return b.Full(out)
}
