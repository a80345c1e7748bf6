package proposals

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
)

// Prefixes of references to data of a request that Mneme stores besides the memory. They are kept after the memory is
// removed.
const (
	CandidateRefPrefix = "candidate:"
	EventRefPrefix     = "ledger:"
)

// HandedIn returns the provenance of a memory without references: its candidate, and the event that was recorded for
// it. An explicit save has no event.
func HandedIn(kind schema.SourceKind, candidate, event string, at time.Time) []schema.Ref {
	ref := SourceRef(kind, "", at)
	ref.Ref = CandidateRefPrefix + candidate
	refs := []schema.Ref{ref}
	if event != "" {
		refs = append(refs, schema.Ref{Kind: "event", Ref: EventRefPrefix + event, Timestamp: ref.Timestamp})
	}
	return refs
}

// Prefixes of actors who need no further evidence.
var personPrefixes = []string{"operator:", "user:", "human:", "person:"}

const importerPrefix = "importer:"

// PutEvidence returns the evidence of a semantic record whose payload has none (document 004 §7: a semantic record
// carries evidence references): the sources of its provenance or, without these, the person who puts it or the importer
// that created it according to its provenance. It returns nil if there is no evidence.
func PutEvidence(p schema.Provenance, actor string) []schema.Ref {
	if len(p.Sources) > 0 {
		return slices.Clone(p.Sources)
	}
	if importer, ok := strings.CutPrefix(actor, importerPrefix); ok && importer != "" &&
		(p.CreatedBy == importer || p.CreatedBy == actor) {
		return []schema.Ref{{Kind: "observation", Ref: actor}}
	}
	person := actor == "operator" || slices.ContainsFunc(personPrefixes, func(prefix string) bool {
		return strings.HasPrefix(actor, prefix) && len(actor) > len(prefix)
	})
	if person {
		return []schema.Ref{{Kind: "human", Ref: actor}}
	}
	return nil
}

// PayloadEvidence returns the evidence in the payload of a semantic record.
func PayloadEvidence(payload json.RawMessage) []schema.Ref {
	var p struct {
		Evidence []schema.Ref `json:"evidence"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return nil
	}
	return p.Evidence
}
