package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

// MaxEncodedBytes is the size of a request as JSON. Temporal refuses payloads over 2 MiB, and JSON may
// write one byte of a text in six.
const MaxEncodedBytes = 2<<20 - 128<<10

// CheckEncoded reports a request that is too large to be sent, as a *ValidationError that names the
// field which may be large. Limits on what the fields hold do not count what JSON adds.
func CheckEncoded(field string, request any) error {
	encoded, err := json.Marshal(request)
	if err != nil {
		return &ValidationError{Fields: []FieldError{{Field: field, Problem: "cannot be written as JSON"}}}
	}
	return CheckEncodedSize(field, len(encoded))
}

// CheckEncodedSize is CheckEncoded for a request whose size is known.
func CheckEncodedSize(field string, size int) error {
	var p problems
	if size > MaxEncodedBytes {
		p.add(field, "with the rest of the request must be at most %d bytes as JSON, got %d", MaxEncodedBytes, size)
	}
	return p.err()
}

// decodeRequest reads a request and returns what is wrong with it: what is unknown, of the wrong type
// or given twice. A decoder that failed for it would fail a workflow before it could say why. deep: in
// members of members, too; records look after themselves.
func decodeRequest(data []byte, into any, deep bool) []FieldError {
	var p problems
	if deep {
		scan(data, "", MaxPayloadDepth, math.MaxInt, &p)
	} else {
		repeated(data, &p)
	}
	if len(p.fields) > 0 {
		return p.fields
	}
	err, wrong := decodeStrict(data, into).(*ValidationError) //nolint:errorlint // decodeStrict returns it unwrapped
	if !wrong {
		return nil
	}
	var d Decoded // names them with their paths, and types in words
	d.check(data, reflect.TypeOf(into).Elem(), "")
	if found := append(d.wrong, d.unread...); len(found) > 0 {
		return found
	}
	for i, f := range err.Fields {
		switch {
		case f.Problem == "unknown field":
			err.Fields[i].Field = join("", f.Field)
		case f.Field == "occurred_at": // no request has it: it is another time
			err.Fields[i] = FieldError{Field: "(json)", Problem: "has a time that is not in RFC 3339"}
		}
	}
	return err.Fields
}

// repeated adds a problem for every member of an object that is given twice, in whatever case: a
// decoder would take the last.
func repeated(data []byte, p *problems) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return // decoding says so
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return
		}
		name, _ := token.(string)
		if key := strings.ToLower(name); seen[key] {
			p.add(join("", name), "is given twice")
		} else {
			seen[key] = true
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return
		}
	}
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *PutRequest) UnmarshalJSON(data []byte) error {
	type plain PutRequest
	r.problems = decodeRequest(data, (*plain)(r), false)
	return nil
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *ReviseRequest) UnmarshalJSON(data []byte) error {
	type plain ReviseRequest
	r.problems = decodeRequest(data, (*plain)(r), false)
	return nil
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *ModifyRequest) UnmarshalJSON(data []byte) error {
	type plain ModifyRequest
	r.problems = decodeRequest(data, (*plain)(r), true)
	return nil
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *RecoverRequest) UnmarshalJSON(data []byte) error {
	type plain RecoverRequest
	r.problems = decodeRequest(data, (*plain)(r), true)
	return nil
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *ForgetRequest) UnmarshalJSON(data []byte) error {
	type plain ForgetRequest
	r.problems = decodeRequest(data, (*plain)(r), true)
	return nil
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *IngestRequest) UnmarshalJSON(data []byte) error {
	type plain IngestRequest
	r.decoded = DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread reads the request as earlier versions did: see Decoded.
func (r *IngestRequest) DropUnread() bool { return r.decoded.DropUnread() }

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *RecallRequest) UnmarshalJSON(data []byte) error {
	type plain RecallRequest
	r.decoded = DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread reads the request as earlier versions did: see Decoded.
func (r *RecallRequest) DropUnread() bool { return r.decoded.DropUnread() }

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *ReviewRequest) UnmarshalJSON(data []byte) error {
	type plain ReviewRequest
	r.decoded = DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread reads the request as earlier versions did: see Decoded.
func (r *ReviewRequest) DropUnread() bool { return r.decoded.DropUnread() }

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *ForgetConfirmation) UnmarshalJSON(data []byte) error {
	type plain ForgetConfirmation
	r.decoded = DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread reads the request as earlier versions did: see Decoded.
func (r *ForgetConfirmation) DropUnread() bool { return r.decoded.DropUnread() }
