package commit

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// RecordDefaults holds the values for fields that a record leaves empty, and the settings of a put.
type RecordDefaults struct {
	Owner      schema.Principal  // the principal that puts the record
	Visibility schema.Visibility // of a record without one; private when empty
	By         string            // the actor in history
	Reason     string            // of the created history row; "put" when empty
	Rules      *policy.Policy    // classification rules; nil for none
	Embedding  *pg.Embedding     // of the record's text
	Metadata   map[string]any    // of the created history row
	Evidence   []schema.Ref      // of a semantic record without any

	// Together are the ids of records put in the same change. Relations may name them as well as stored memories.
	// The caller applies their trust and sensitivity as sources.
	Together map[uuid.UUID]bool
	// Aliases are the external ids of the records put together.
	Aliases map[string]uuid.UUID
	// Classified is the result of Classify for the record, if it was called before.
	Classified *Classified
}

// Classified is the classification of a record by the policy (document 004 §15.5). It is computed before the
// transaction, because a megabyte of text takes a while.
type Classified struct {
	text        normalize.Normalized
	explanation policy.Explanation
	Owner       schema.Principal // in the record's scope
	Visibility  schema.Visibility
}

// Classify classifies a record. Rules have the last word, also on scope and visibility.
func (d *RecordDefaults) Classify(m schema.MemoryRecord) Classified {
	out := Classified{text: memory.RecordContent(m), Owner: d.Owner.Owner(), Visibility: cmp.Or(m.Visibility,
		d.Visibility, schema.VisibilityPrivate)}
	out.Owner.Scope = cmp.Or(out.Owner.Scope, m.Scope)
	in := policy.RecordInput(m, out.text.Storage, out.Owner)
	in.Principal, in.Visibility = out.Owner, out.Visibility
	out.explanation = d.Rules.Explain(memory.ClassifyRecord(m, out.text), in)
	out.text.Hash = memory.RecordHash(m, out.text)
	out.Owner.Scope = cmp.Or(out.explanation.Classification.Scope, out.Owner.Scope)
	out.Visibility = cmp.Or(out.explanation.Classification.Visibility, out.Visibility)
	return out
}

// ReferenceError means that a record names a memory or an artifact that does not exist or is hidden from its
// writer.
type ReferenceError struct {
	Field string // path within the record, such as relations[1].target_id
}

// Error implements error.
func (e *ReferenceError) Error() string { return e.Field + ": does not exist" }

// FromRecord converts a valid record to a row to insert (document 004 §15A.2). It keeps the record's values;
// missing ones depend on the type. The record's id and the ids that it names become UUIDs (memory.RecordID). The
// trust is lowered to that of the least trusted source, and the sensitivity is raised to that of the most sensitive
// source.
//
// It reads the memories and artifacts that the record names, and writes nothing. It returns a *ReferenceError if
// one of them does not exist, and a *schema.ValidationError for a value that cannot be stored. Both errors name
// fields of the record.
func (c *Change) FromRecord(ctx context.Context, m schema.MemoryRecord, d RecordDefaults) (NewMemory, error) {
	id := RecordID(c.Tenant, m)
	if d.Classified == nil {
		known := d.Classify(m)
		d.Classified = &known
	}
	text, classification := d.Classified.text, d.Classified.explanation.Classification
	if classification.Tier == schema.TierPersistent && classification.Typology == schema.TypologyEpisodic {
		return NewMemory{}, &schema.ValidationError{Fields: []schema.FieldError{{Field: "tier",
			Problem: "must not be persistent where the typology is episodic"}}}
	}
	payload, err := StoredPayload(m)
	if err != nil {
		return NewMemory{}, &schema.ValidationError{Fields: []schema.FieldError{{Field: "payload",
			Problem: "must be an object"}}}
	}
	trust, salience := m.SourceTrust, m.Salience
	if classification.SourceTrust != nil {
		trust = *classification.SourceTrust
	}
	metadata := d.Classified.explanation.Metadata()
	maps.Copy(metadata, d.Metadata)
	row := NewMemory{
		ID: id, ExternalID: m.ExternalID, Owner: d.Classified.Owner, Visibility: d.Classified.Visibility,
		Classification: classification, Text: text, Payload: payload, Who: m.Who, Session: m.Session,
		Interaction: m.Interaction,
		WorldID:     m.WorldID, WorldVersion: m.WorldVersion, Language: m.Language, SafeSummary: m.SafeSummary,
		KeyID: m.KeyID, Status: m.Status, SourceTrust: &trust,
		Confidence: classification.Confidence, Salience: &salience, SalienceAt: m.SalienceAt,
		ReinforcedAt: m.Lifecycle.LastReinforcedAt,
		OccurredAt:   c.occurred(m), CreatedAt: c.past(m.CreatedAt), UpdatedAt: c.past(m.UpdatedAt),
		CreatedBy: cmp.Or(m.Provenance.CreatedBy, d.By), By: d.By,
		Refs: m.Provenance.Sources, SupersededAt: m.SupersededAt, Audit: m.AuditLog, Embedding: d.Embedding,
		Reason: cmp.Or(d.Reason, "put"), Metadata: metadata,
	}
	if level, kinds := sensitive.Detect(m.SafeSummary); len(kinds) > 0 &&
		level.Lower(sensitive.DefaultLimit) != level {
		return NewMemory{}, &schema.ValidationError{Fields: []schema.FieldError{{Field: "safe_summary",
			Problem: "holds what a detector takes for " + strings.Join(kinds, ", ")}}}
	}
	if m.Type == schema.TypeSemantic {
		if err := row.state(m); err != nil {
			return NewMemory{}, err
		}
		if len(proposals.PayloadEvidence(payload)) == 0 && len(d.Evidence) > 0 {
			if payload, err = WithMember(payload, "evidence", d.Evidence); err != nil {
				return NewMemory{}, err
			}
			row.Payload = payload
		}
		if chosen := classification.RevisionPolicy; chosen != "" && chosen != row.RevisionPolicy {
			row.RevisionPolicy = chosen
			if row.Payload, err = WithMember(payload, "revision_policy", chosen); err != nil {
				return NewMemory{}, err
			}
		}
	}
	if err := c.references(ctx, m, d, &row); err != nil {
		return NewMemory{}, err
	}
	return row, nil
}

// RecordID returns the id under which a record is stored: its own, or one made from its external id, or a new one.
func RecordID(tenant string, m schema.MemoryRecord) uuid.UUID {
	if id := cmp.Or(m.ID, m.ExternalID); id != "" {
		return memory.RecordID(tenant, id)
	}
	return pg.NewID()
}

// state sets the claim of a semantic record, and its place among its revisions.
func (r *NewMemory) state(m schema.MemoryRecord) error {
	var p schema.SemanticPayload
	if err := json.Unmarshal(m.Payload, &p); err != nil {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "payload",
			Problem: "is not that of a semantic record"}}}
	}
	r.Validity, r.RevisionPolicy = p.Validity, cmp.Or(r.Classification.RevisionPolicy, p.RevisionPolicy)
	if p.Revision != nil {
		r.Status = cmp.Or(r.Status, p.Revision.Status)
	}
	if claim := memory.RecordClaim(p); claim.Functional || claim.Predicate != schema.PredicateStates {
		r.Claim, r.Object = claim, p.Object // as in the pipeline, a plain statement is not a claim
	}
	return nil
}

// occurred returns when the experience of a record happened: the time of its first event, or else its creation.
func (c *Change) occurred(m schema.MemoryRecord) time.Time {
	if !m.OccurredAt.IsZero() {
		return m.OccurredAt
	}
	if m.Type == schema.TypeEpisodic {
		var p schema.EpisodicPayload
		if json.Unmarshal(m.Payload, &p) == nil && len(p.Timeline) > 0 && !p.Timeline[0].T.IsZero() {
			return p.Timeline[0].T
		}
	}
	return c.OrNow(m.CreatedAt)
}

// past returns at, or now if at is in the future. A memory is not valid before it is known, and each version begins
// when the previous one ends.
func (c *Change) past(at time.Time) time.Time {
	if at.After(c.Now) {
		return c.Now
	}
	return at
}

// StoredPayload returns a record's payload as it is stored: without the revision state, which has columns of its
// own.
func StoredPayload(m schema.MemoryRecord) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.Payload, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, fmt.Errorf("payload: %w", pg.ErrNotFound)
	}
	delete(members, "revision")
	if _, ok := members["kind"]; !ok { // one version of document 004 has the kind only in the record
		members["kind"], _ = json.Marshal(m.Type)
	}
	return json.Marshal(members)
}

// WithMember returns a JSON object with a member set.
func WithMember(object json.RawMessage, name string, value any) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	members[name] = encoded
	return json.Marshal(members)
}

// references resolves the relations, revisions and artifacts of a record.
func (c *Change) references(ctx context.Context, m schema.MemoryRecord, d RecordDefaults, row *NewMemory) error {
	aliases, err := c.aliases(ctx, m, d)
	if err != nil {
		return err
	}
	named := map[uuid.UUID]string{} // id to the field that names it first
	resolve := func(field, id string) uuid.UUID {
		key, ok := aliases[id]
		if !ok {
			key = memory.RecordID(c.Tenant, id)
		}
		if _, ok := named[key]; !ok {
			named[key] = field
		}
		return key
	}
	var sources []uuid.UUID
	for i, r := range m.Relations {
		field := fmt.Sprintf("relations[%d].target_id", i)
		target := resolve(field, r.TargetID)
		if target == row.ID {
			return &schema.ValidationError{Fields: []schema.FieldError{{Field: field,
				Problem: "names the record itself"}}}
		}
		row.Relations = append(row.Relations, Relation{Predicate: r.Predicate, Target: target, Weight: r.Weight,
			Reason: r.Reason})
		if r.Predicate == revision.RelationDerivedFrom {
			sources = append(sources, target)
		}
	}
	supersedes, supersededBy := chain(m)
	if supersedes != "" {
		key := resolve("supersedes", supersedes)
		row.Supersedes = &key
	}
	if supersededBy != "" {
		key := resolve("superseded_by", supersededBy)
		row.SupersededBy = &key
	}
	if row.Status == schema.StatusSuperseded && row.SupersededAt == nil {
		at := c.OrNow(m.UpdatedAt)
		row.SupersededAt = &at
	}
	if err := c.checkTargets(ctx, d, named, sources, row); err != nil {
		return err
	}
	return c.checkArtifacts(ctx, d.Owner, m, row)
}

// aliases returns the ids of memories that the record's relations name by external id.
func (c *Change) aliases(ctx context.Context, m schema.MemoryRecord, d RecordDefaults) (map[string]uuid.UUID, error) {
	out := map[string]uuid.UUID{}
	var ask []string
	for _, r := range m.Relations {
		if id, ok := d.Aliases[r.TargetID]; ok {
			out[r.TargetID] = id
		} else if memory.RecordID(c.Tenant, r.TargetID).String() != strings.ToLower(r.TargetID) {
			ask = append(ask, r.TargetID)
		}
	}
	if len(ask) == 0 {
		return out, nil
	}
	found, err := Rows[struct {
		ExternalID string
		ID         uuid.UUID
	}](ctx, c.Tx, `
		SELECT external_id, id
		FROM memories
		WHERE tenant = @tenant AND external_id = ANY(@external_ids)`,
		pg.Args{"tenant": c.Tenant, "external_ids": ask})
	for _, m := range found {
		out[m.ExternalID] = m.ID
	}
	return out, err
}

// chain returns a record's predecessor and successor, from its own fields or its payload.
func chain(m schema.MemoryRecord) (supersedes, supersededBy string) {
	supersedes, supersededBy = m.Supersedes, m.SupersededBy
	var p struct {
		Revision *schema.Revision `json:"revision"`
	}
	if m.Type == schema.TypeSemantic && json.Unmarshal(m.Payload, &p) == nil && p.Revision != nil {
		supersedes, supersededBy = cmp.Or(supersedes, p.Revision.Supersedes),
			cmp.Or(supersededBy, p.Revision.SupersededBy)
	}
	return supersedes, supersededBy
}

// checkTargets locks the named memories against changes. It applies the trust and sensitivity of those that are
// sources to the row.
func (c *Change) checkTargets(ctx context.Context, d RecordDefaults, named map[uuid.UUID]string, sources []uuid.UUID,
	row *NewMemory) error {
	ids := make([]uuid.UUID, 0, len(named))
	for id := range named {
		if !d.Together[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	targets, err := Rows[struct {
		ID          uuid.UUID
		SourceTrust float64
		Sensitivity schema.Sensitivity
	}](ctx, c.Tx, `
		SELECT m.id, m.source_trust, m.sensitivity
		FROM memories m
		WHERE m.tenant = @tenant
			AND m.id = ANY(@ids)
			AND m.erased_at IS NULL
			AND m.purging_at IS NULL
			AND `+mayRead+`
		ORDER BY m.id
		FOR SHARE OF m`,
		pg.Args{
			"tenant":  c.Tenant,
			"ids":     ids,
			"agent":   d.Owner.Agent,
			"project": d.Owner.Project,
			"grants":  pg.ReadGrants(d.Owner),
		})
	if err != nil {
		return err
	}
	for _, m := range targets {
		delete(named, m.ID)
		if slices.Contains(sources, m.ID) {
			row.Derive(m.SourceTrust, m.Sensitivity)
		}
	}
	missing := []string{}
	for id, field := range named {
		if !d.Together[id] {
			missing = append(missing, field)
		}
	}
	if len(missing) > 0 {
		return &ReferenceError{Field: slices.Min(missing)}
	}
	return nil
}

// Derive makes a row no more trusted and no less sensitive than a memory that it is derived from.
func (r *NewMemory) Derive(trust float64, sensitivity schema.Sensitivity) {
	*r.SourceTrust = memory.DerivedTrust(*r.SourceTrust, trust)
	r.Classification = r.Classification.DerivedFrom(sensitivity)
}

// checkArtifacts links the row to the stored artifacts that the record names by content address.
func (c *Change) checkArtifacts(ctx context.Context, p schema.Principal, m schema.MemoryRecord, row *NewMemory) error {
	named := artifactsOf(m)
	if len(named) == 0 {
		return nil
	}
	sums := make([][]byte, 0, len(named))
	for _, a := range named {
		sums = append(sums, a.sum)
	}
	stored, err := Values[[]byte](ctx, c.Tx, `
		SELECT a.sha256
		FROM artifacts a
		WHERE a.tenant = @tenant AND a.sha256 = ANY(@sums) AND `+MaySeeArtifact,
		pg.Args{
			"tenant":  c.Tenant,
			"sums":    sums,
			"agent":   p.Agent,
			"project": p.Project,
			"grants":  pg.ReadGrants(p),
		})
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, sum := range stored {
		known[string(sum)] = true
	}
	row.Artifacts = row.Artifacts[:0]
	for _, a := range named {
		if !known[string(a.sum)] {
			return &ReferenceError{Field: a.field}
		}
		row.Artifacts = append(row.Artifacts, a.sum)
	}
	return nil
}

// namedArtifact is an artifact that a record names by its content address.
type namedArtifact struct {
	field string
	sum   []byte // SHA-256
}

// artifactsOf lists the content addresses with which a record refers to artifacts. Other references belong to the
// host system.
func artifactsOf(m schema.MemoryRecord) []namedArtifact {
	var out []namedArtifact
	add := func(field, ref string) {
		if sum, ok := ParseAddress(ref); ok {
			out = append(out, namedArtifact{field: field, sum: sum})
		}
	}
	for i, ref := range m.Provenance.Sources {
		if ref.Kind == "artifact" {
			add(fmt.Sprintf("provenance.sources[%d].ref", i), ref.Ref)
		}
	}
	var p schema.EpisodicPayload
	if m.Type != schema.TypeEpisodic || json.Unmarshal(m.Payload, &p) != nil {
		return out
	}
	for i, ref := range p.Artifacts {
		add(fmt.Sprintf("payload.artifacts[%d]", i), ref)
	}
	add("payload.tool_graph_ref", p.ToolGraphRef)
	for i, node := range p.ToolGraph {
		add(fmt.Sprintf("payload.tool_graph[%d].result_ref", i), node.ResultRef)
	}
	return out
}

// ParseAddress reads a content address: sha256: and 64 lower-case hexadecimal digits.
func ParseAddress(s string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(s, schema.ArtifactPrefix)
	if !ok || digits != strings.ToLower(digits) {
		return nil, false
	}
	sum, err := hex.DecodeString(digits)
	return sum, err == nil && len(sum) == 32
}

// MaySeeArtifact is the condition for reading an artifact a: the principal stored it, or may read a memory that
// refers to it. Its arguments are those of MayReadAs.
var MaySeeArtifact = `(
	EXISTS (
		SELECT FROM artifact_holders h
		WHERE h.tenant = a.tenant AND h.sha256 = a.sha256
			AND h.agent_id = @agent AND ` + pg.OfUser("h.scope", "@grants") + `)
	OR EXISTS (
		SELECT FROM memory_artifacts x
			JOIN memories m ON m.tenant = x.tenant AND m.id = x.memory_id
		WHERE x.tenant = a.tenant AND x.sha256 = a.sha256 AND m.erased_at IS NULL AND ` + mayRead + `))`

// eventOf returns the history event of an audited step.
func eventOf(action schema.AuditAction) schema.HistoryEvent {
	switch action {
	case schema.AuditCreate:
		return schema.EventCreated
	case schema.AuditDelete, schema.AuditErase:
		return schema.EventDeleted
	case schema.AuditRecover:
		return schema.EventRecovered
	default:
		return schema.EventModified
	}
}
