package edit

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// workingDone reports whether a record is working memory whose task has ended (document 004 §6).
func workingDone(m schema.MemoryRecord) bool {
	var p schema.WorkingPayload
	return m.Type == schema.TypeWorking && json.Unmarshal(m.Payload, &p) == nil && p.State == schema.TaskDone
}

// sameRecord reports whether a stored record says all that a put one does. What the put one leaves out
// was filled in when it was stored, and is not compared where it follows from the time.
func sameRecord(stored, put schema.MemoryRecord, row commit.NewMemory) bool {
	payload, err := commit.StoredPayload(stored)
	given := mustRaw(row.Payload)
	if err == nil && put.Type == schema.TypeSemantic && len(proposals.PayloadEvidence(put.Payload)) == 0 {
		// Evidence that the put record leaves out follows from the caller, and another caller may have put it first.
		if given, err = commit.WithMember(given, "evidence", nil); err == nil {
			payload, err = commit.WithMember(payload, "evidence", nil)
		}
	}
	if err != nil || !memory.SameJSON(payload, given) {
		return false
	}
	cl, l := row.Classification, stored.Lifecycle
	at := func(put, stored time.Time) bool {
		return put.IsZero() || put.Truncate(time.Microsecond).Equal(stored.Truncate(time.Microsecond))
	}
	content := stored.Content == row.Text.Storage
	if put.Type == schema.TypeEpisodic && normalize.StorageContent(put.Content) == "" {
		content = true // it may have grown since its content was made
	}
	return content && stored.Visibility == row.Visibility && stored.Scope == row.Owner.Scope &&
		stored.Agent == row.Owner.Agent &&
		stored.ExternalID == row.ExternalID && stored.Sensitivity == cl.Sensitivity &&
		stored.Confidence == row.Confidence &&
		stored.Importance == cl.Importance && stored.Salience == *row.Salience && stored.Category == cl.Category &&
		stored.Tier == cl.Tier &&
		stored.Typology == cl.Typology && slices.Equal(stored.Tags, pg.TagList(cl.Tags)) &&
		memory.DecayOf(l.Decay).Equal(cl.Decay) && l.Pinned == cl.Pinned &&
		l.DeletionPolicy == cl.DeletionPolicy && stored.Who == row.Who && stored.Session == row.Session &&
		stored.Interaction == row.Interaction &&
		stored.KeyID == row.KeyID && stored.WorldID == row.WorldID && stored.WorldVersion == row.WorldVersion &&
		stored.SourceTrust == *row.SourceTrust &&
		stored.SafeSummary == row.SafeSummary && stored.Language == cmp.Or(row.Language, "en") &&
		stored.Status == cmp.Or(row.Status, schema.StatusActive) &&
		at(put.CreatedAt, stored.CreatedAt) && at(put.UpdatedAt, stored.UpdatedAt) && at(put.Lifecycle.LastReinforcedAt,
		l.LastReinforcedAt) &&
		at(put.OccurredAt, stored.OccurredAt) && at(put.SalienceAt, stored.SalienceAt) &&
		slices.EqualFunc(put.Provenance.Sources, stored.Provenance.Sources, sameRef) &&
		sameEdges(row.Relations, stored.Relations)
}

func sameRef(a, b schema.Ref) bool {
	switch {
	case a.Kind != b.Kind || a.Ref != b.Ref || a.Hash != b.Hash || (a.Timestamp == nil) != (b.Timestamp == nil):
		return false
	default:
		return a.Timestamp == nil ||
			a.Timestamp.Truncate(time.Microsecond).Equal(b.Timestamp.Truncate(time.Microsecond))
	}
}

// sameEdges reports whether the put edges are stored. There may be more: other records add theirs.
func sameEdges(put []commit.Relation, stored []schema.Relation) bool {
	for _, edge := range put {
		if !slices.Contains(stored, schema.Relation{Predicate: edge.Predicate, TargetID: edge.Target.String(),
			Weight: edge.Weight, Reason: edge.Reason}) {
			return false
		}
	}
	return true
}

// mustRaw is the payload of a row that fromRecord made.
func mustRaw(payload any) json.RawMessage {
	raw, _ := payload.(json.RawMessage)
	return raw
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
