package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// foreign is a memory of another system as a record, with the fields that a record cannot store.
type foreign struct {
	item    int // number in the file, from 1
	record  schema.MemoryRecord
	leftOut []string          // names of fields
	names   map[string]string // names of the record's fields in the other system; if nil, the record's own
	user    string            // the owner, if the other system names one
}

// place puts the memory into the scope of its user, unless the request names a scope for the whole file.
func (m *foreign) place(p schema.Principal) {
	if m.user != "" && p.Scope == "" {
		m.record.Scope = schema.UserScope(m.user)
	}
}

// check validates the memory as a record of the request, and the name of its user.
func (m *foreign) check(req schema.PutRequest) error {
	req.Records = []schema.MemoryRecord{m.record}
	err := m.named(app.OfItem("records[0]", req.Validate()))
	problem := schema.UserNameProblem(m.user)
	if problem == "" || m.record.Scope != schema.UserScope(m.user) {
		return err
	}
	field := m.names["scope"]
	bad := schema.ValidationError{}
	if err != nil {
		bad.Fields = FieldsOf(err)
	}
	if !slices.ContainsFunc(bad.Fields, func(f schema.FieldError) bool { return f.Field == field }) {
		bad.Fields = append(bad.Fields, schema.FieldError{Field: field, Problem: problem})
	}
	return &bad
}

// named renames the fields of an error to those of the other system. If the whole record is too large, the field is the
// memory.
func (m foreign) named(err error) error {
	var bad *schema.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	var out []schema.FieldError
	for _, f := range bad.Fields {
		if f.Field == "records" {
			f.Field = "(memory)"
		}
		if m.names != nil {
			if f.Field == "type" { // the mapping sets the type: the error is elsewhere
				continue
			}
			f.Field = cmp.Or(m.names[f.Field], f.Field)
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	if out == nil {
		return err
	}
	return &schema.ValidationError{Fields: out}
}

// ForeignReport is the output of an import of another system's export.
type ForeignReport struct {
	Put
	Read    int            `json:"read"`
	Failed  int            `json:"failed"`   // memories that cannot become records
	LeftOut map[string]int `json:"left_out"` // fields without a place in a record, with their counts
	Errors  []LineError    `json:"errors"`   // line: the number of the memory in the file
}

// importForeign puts the memories of another system's export as records.
func importForeign(ctx context.Context, a *app.App, input io.Reader, f importFlags, req schema.IngestRequest) error {
	data, err := io.ReadAll(io.LimitReader(input, MaxPutInput+1))
	switch {
	case err != nil:
		return fmt.Errorf("read input: %w", err)
	case len(data) > MaxPutInput:
		return app.Invalid("file", "is larger than %d MiB", MaxPutInput>>20)
	case !utf8.Valid(data): // the JSON decoder would put replacement characters in
		return app.Invalid("file", "is not valid UTF-8")
	}
	values, err := splitRecords(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return err
	}
	values = unwrapped(values, "results", "memories", "records")
	operation := schema.PutRequest{Visibility: req.Visibility, Mode: req.Mode,
		Operation: schema.Operation{Principal: req.Principal, Actor: app.Operator(),
			Reason: "imported from " + f.format}}
	report := ForeignReport{Read: len(values), LeftOut: map[string]int{}, Errors: []LineError{}}
	var all []foreign
	seen := map[string]int{} // ids, with the memory that had them
	read := map[string]func(json.RawMessage) (foreign, error){formatMem0: readMem0,
		formatMembrane: readMembrane}[f.format]
	for i, value := range values {
		m, err := read(value)
		m.item = i + 1
		if err == nil {
			m.place(req.Principal)
			err = m.check(operation)
		}
		if err == nil {
			key := strings.ToLower(cmp.Or(m.record.ID, m.record.ExternalID))
			if first, ok := seen[key]; ok && key != "" {
				err = app.Invalid("id", "is also the id of memory %d", first)
			} else {
				seen[key] = m.item
			}
		}
		if err != nil {
			report.Failed++
			if e := (LineError{Line: i + 1, Fields: FieldsOf(err)}); len(report.Errors) < maxListed {
				report.Errors = append(report.Errors, e)
				a.Note("mneme: memory %d: %s", e.Line, strings.TrimPrefix(e.String(), fmt.Sprintf("line %d: ", e.Line)))
			}
			continue
		}
		all = append(all, m)
	}
	if f.strict && report.Failed > 0 {
		return badLines(report.Errors)
	}
	all = inOrder(all)
	records := make([]schema.MemoryRecord, len(all))
	for i, m := range all {
		records[i] = m.record
		for _, field := range m.leftOut {
			report.LeftOut[field]++
		}
	}
	return putForeign(ctx, a, operation, records, report)
}

// putForeign writes the records and prints their outcomes.
func putForeign(
	ctx context.Context,
	a *app.App,
	req schema.PutRequest,
	records []schema.MemoryRecord,
	report ForeignReport,
) error {
	report.Put = Put{PutResult: schema.PutResult{Items: []schema.PutItem{}}, Counts: map[schema.PutStatus]int{},
		Runs: []app.OperationRun{}}
	var failed error
	if len(records) > 0 {
		for _, part := range putParts(records) {
			req.Records = part
			if failed = putPart(ctx, a, req, false, &report.Put); failed != nil {
				break
			}
		}
	}
	if failed != nil && len(report.Runs) == 0 {
		return failed
	}
	if err := a.Print(report, report.text); err != nil {
		return err
	}
	refused := 0
	for _, item := range report.Items {
		if !item.Status.Stands() {
			refused++
		}
	}
	switch {
	case failed != nil:
		return fmt.Errorf("not finished (run the same command again to continue): %w", failed)
	case report.Failed+refused > 0:
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d memories were not imported",
			report.Failed+refused, report.Read))
	}
	return nil
}

func (r ForeignReport) text(t *app.Text) {
	t.Line("%d read, %d not usable: %s", r.Read, r.Failed, app.Counts(r.Counts))
	if len(r.LeftOut) > 0 {
		t.Line("left out: %s", app.Counts(r.LeftOut))
	}
}

// unwrapped returns the memories of values that are wrapped in an object, as lists of an API are.
func unwrapped(values []json.RawMessage, names ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, value := range values {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(value, &object) == nil {
			for _, name := range names {
				if json.Unmarshal(object[name], &list) == nil && list != nil {
					break
				}
			}
		}
		if list == nil {
			list = []json.RawMessage{value}
		}
		out = append(out, list...)
	}
	return out
}

// inOrder puts memories after those that their relations name, as put requires. Relations to memories that are not in
// the file, or that cannot come earlier, are omitted.
func inOrder(all []foreign) []foreign {
	at := map[string]int{}
	for i, m := range all {
		for _, id := range []string{m.record.ID, m.record.ExternalID} {
			if id != "" {
				at[strings.ToLower(id)] = i
			}
		}
	}
	const (
		open = 1
		done = 2
	)
	state, out := make([]int, len(all)), make([]foreign, 0, len(all))
	placed := make([]bool, len(all))
	for start := range all {
		stack := []int{start}
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			if state[i] == 0 {
				state[i] = open
				for _, r := range slices.Backward(all[i].record.Relations) {
					if to, ok := at[strings.ToLower(r.TargetID)]; ok && state[to] == 0 {
						stack = append(stack, to)
					}
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if state[i] == done {
				continue
			}
			state[i] = done
			m := all[i]
			var kept []schema.Relation
			for _, r := range m.record.Relations {
				if to, ok := at[strings.ToLower(r.TargetID)]; ok && placed[to] {
					kept = append(kept, r)
				} else {
					m.leftOut = append(m.leftOut, "relations")
				}
			}
			m.record.Relations = kept
			placed[i] = true
			out = append(out, m)
		}
	}
	return out
}

// ImportedID is the id of a memory without a time-ordered id. It is computed from the memory's source and creation
// time, so that it is the same every time and listings are in order of time.
func ImportedID(system, id string, at time.Time) string {
	sum := sha256.Sum256([]byte(system + ":" + id))
	var out uuid.UUID
	ms := uint64(max(at.UnixMilli(), 0))
	for i := range 6 {
		out[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(out[6:], sum[:10])
	out[6] = out[6]&0x0f | 0x70 // version 7
	out[8] = out[8]&0x3f | 0x80
	return out.String()
}

// recordOf decodes a record from fields that have the names of the record's JSON.
func recordOf(members map[string]any) (schema.MemoryRecord, error) {
	encoded, err := json.Marshal(members)
	if err != nil {
		return schema.MemoryRecord{}, errors.New("cannot be written as JSON")
	}
	var m schema.MemoryRecord
	return m, json.Unmarshal(encoded, &m) // validation reports invalid fields
}

// object decodes one memory, keeping numbers as they are written.
func object(data json.RawMessage) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var out map[string]any
	if err := decoder.Decode(&out); err != nil || out == nil {
		return nil, app.Invalid("(memory)", "must be an object")
	}
	return out, nil
}

// textOf returns a member that is a text, or else the empty text.
func textOf(members map[string]any, name string) string {
	s, _ := members[name].(string)
	return s
}

// ForeignTime parses the time formats of other systems: RFC 3339, with or without a zone, or a date. Without a zone
// it is UTC.
func ForeignTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999",
		"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}
