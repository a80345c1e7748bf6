package proposals

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
)

// Prefixes of references to what Mneme keeps of a request in addition to the memory: they stay when that is gone.
const (
	CandidateRefPrefix = "candidate:"
	EventRefPrefix     = "ledger:"
)

// HandedIn is the provenance of a memory that came without references: the candidate that it was handed in
// as, and the event that was noted of it. What a person stated as a memory is not an event.
func HandedIn(kind schema.SourceKind, candidate, event string, at time.Time) []schema.Ref {
	ref := SourceRef(kind, "", at)
	ref.Ref = CandidateRefPrefix + candidate
	refs := []schema.Ref{ref}
	if event != "" {
		refs = append(refs, schema.Ref{Kind: "event", Ref: EventRefPrefix + event, Timestamp: ref.Timestamp})
	}
	return refs
}

// Who may be believed without further evidence, by how actors are named.
var personPrefixes = []string{"operator:", "user:", "human:", "person:"}

const importerPrefix = "importer:"

// PutEvidence is the evidence of a semantic record that names none in its payload (document 004 §7: a semantic record
// carries evidence references): its provenance, or else the person who puts it, or the importer that its provenance
// names as its creator. It is nil if there is no evidence.
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

// PayloadEvidence is the evidence that the payload of a semantic record names.
func PayloadEvidence(payload json.RawMessage) []schema.Ref {
	var p struct {
		Evidence []schema.Ref `json:"evidence"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return nil
	}
	return p.Evidence
}
