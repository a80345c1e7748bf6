package revision

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// sameRecord reports whether a stored record has all values of a put record. Values that the put record omits were set
// when it was stored, and are not compared if they depend on the time.
func sameRecord(m PutStored, r *PutRecord) bool {
	return samePayload(m, r) && sameText(m, r) && sameColumns(&m.Record, &r.Kept) && sameTimes(&m.Record, &r.Put) &&
		slices.EqualFunc(r.Put.Provenance.Sources, m.Record.Provenance.Sources, SameRef) &&
		hasRelations(m.Record.Relations, r.Kept.Relations)
}

// samePayload compares payloads. If a semantic record has no evidence, the stored evidence is ignored: it names the
// caller that put the record first.
func samePayload(m PutStored, r *PutRecord) bool {
	stored, kept := m.Payload, r.Kept.Payload
	if r.Put.Type == schema.TypeSemantic && !hasEvidence(r.Put) {
		var known, given bool
		stored, known = withoutEvidence(stored)
		kept, given = withoutEvidence(kept)
		if !known || !given {
			return false
		}
	}
	return memory.SameJSON(stored, kept)
}

// sameText compares contents. Content derived from an episode is ignored, because the episode may have grown since.
func sameText(m PutStored, r *PutRecord) bool {
	made := r.Put.Type == schema.TypeEpisodic && normalize.StorageContent(r.Put.Content) == ""
	return made || m.Record.Content == r.Kept.Content
}

// sameColumns compares the fields of a record outside its payload.
func sameColumns(stored, kept *schema.MemoryRecord) bool {
	return stored.Visibility == kept.Visibility &&
		stored.Scope == kept.Scope &&
		stored.Agent == kept.Agent &&
		stored.ExternalID == kept.ExternalID &&
		stored.Sensitivity == kept.Sensitivity &&
		stored.Confidence == kept.Confidence &&
		stored.Importance == kept.Importance &&
		stored.Salience == kept.Salience &&
		stored.Category == kept.Category &&
		stored.Tier == kept.Tier &&
		stored.Typology == kept.Typology &&
		slices.Equal(stored.Tags, kept.Tags) &&
		memory.DecayOf(stored.Lifecycle.Decay).Equal(memory.DecayOf(kept.Lifecycle.Decay)) &&
		stored.Lifecycle.Pinned == kept.Lifecycle.Pinned &&
		stored.Lifecycle.DeletionPolicy == kept.Lifecycle.DeletionPolicy &&
		stored.Who == kept.Who &&
		stored.Session == kept.Session &&
		stored.Interaction == kept.Interaction &&
		stored.KeyID == kept.KeyID &&
		stored.WorldID == kept.WorldID &&
		stored.WorldVersion == kept.WorldVersion &&
		stored.SourceTrust == kept.SourceTrust &&
		stored.SafeSummary == kept.SafeSummary &&
		stored.Language == kept.Language &&
		stored.Status == kept.Status
}

// sameTimes compares the times that a put record names.
func sameTimes(stored, put *schema.MemoryRecord) bool {
	same := func(put, stored time.Time) bool { return put.IsZero() || sameTime(put, stored) }
	return same(put.CreatedAt, stored.CreatedAt) &&
		same(put.UpdatedAt, stored.UpdatedAt) &&
		same(put.Lifecycle.LastReinforcedAt, stored.Lifecycle.LastReinforcedAt) &&
		same(put.OccurredAt, stored.OccurredAt) &&
		same(put.SalienceAt, stored.SalienceAt)
}

// sameTime compares times with the precision with which they are stored.
func sameTime(a, b time.Time) bool {
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}

// SameRef reports whether two references are the same.
func SameRef(a, b schema.Ref) bool {
	if a.Kind != b.Kind || a.Ref != b.Ref || a.Hash != b.Hash || (a.Timestamp == nil) != (b.Timestamp == nil) {
		return false
	}
	return a.Timestamp == nil || sameTime(*a.Timestamp, *b.Timestamp)
}

// hasRelations reports whether all relations are stored. There may be more, from other records.
func hasRelations(stored, put []schema.Relation) bool {
	return !slices.ContainsFunc(put, func(edge schema.Relation) bool { return !slices.Contains(stored, edge) })
}

// hasEvidence reports whether the payload of a semantic record names evidence.
func hasEvidence(m schema.MemoryRecord) bool {
	return len(memory.PayloadOf[struct {
		Evidence []schema.Ref `json:"evidence"`
	}](m).Evidence) > 0
}

// withoutEvidence returns a payload without its evidence, and whether the payload is a JSON object.
func withoutEvidence(payload json.RawMessage) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil || members == nil {
		return nil, false
	}
	delete(members, "evidence")
	out, err := json.Marshal(members)
	return out, err == nil
}
