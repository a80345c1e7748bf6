package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/jsonschema"
)

// Limits of a record. Limits of a request also apply to the fields that both have.
const (
	MaxRecordRefs      = 1_000         // provenance sources, evidence
	MaxRelations       = 1_000         // edges from one record
	MaxDurationSeconds = 9_000_000_000 // half-life and maximum age: 285 years
	MaxSubjectLength   = 256           // characters of a semantic memory's subject
	MaxPredicateLength = 256           // characters of its predicate
	MaxDecayPoints     = 32            // points of a custom curve
)

var (
	tiers            = []Tier{TierInteraction, TierSession, TierPersistent}
	typologies       = []Typology{TypologyEpisodic, TypologySemantic, TypologyProcedural}
	statuses         = []Status{StatusActive, StatusContested, StatusSuperseded, StatusRetracted}
	decayCurves      = []DecayCurve{CurveExponential, CurveLinear, CurveCustom}
	deletionPolicies = []DeletionPolicy{DeleteAutoPrune, DeleteManualOnly, DeleteNever}
	auditActions     = []AuditAction{AuditCreate, AuditRevise, AuditFork, AuditMerge, AuditDelete,
		AuditRecover, AuditContest, AuditResolve,
		AuditRetract, AuditModify, AuditErase, AuditArchive, AuditKeep, AuditPurge, AuditReinforce, AuditPenalise}
)

var relationPredicate = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Validate checks a complete record: everything that document 004 §15A requires must be present, and everything must
// be valid. It reports every invalid field, as a *ValidationError. It cannot tell a missing number from zero;
// DecodeRecord can.
func (m *MemoryRecord) Validate() error {
	var p check.Problems
	for _, path := range m.lacking() {
		p.Add(path, "is required")
	}
	m.validate(&p, "")
	return p.Err()
}

// lacking lists the fields that a complete record needs and this one lacks.
func (m *MemoryRecord) lacking() []string {
	var out []string
	need := func(path string, missing bool) {
		if missing {
			out = append(out, path)
		}
	}
	need("id", m.ID == "" && m.ExternalID == "")
	need("sensitivity", m.Sensitivity == "")
	need("created_at", m.CreatedAt.IsZero())
	need("updated_at", m.UpdatedAt.IsZero())
	need("lifecycle.decay.curve", m.Lifecycle.Decay.Curve == "")
	need("lifecycle.decay.half_life_seconds", m.Lifecycle.Decay.HalfLifeSeconds == 0)
	need("lifecycle.last_reinforced_at", m.Lifecycle.LastReinforcedAt.IsZero())
	need("provenance.sources", m.Provenance.Sources == nil)
	return out
}

// validate checks the fields that the record sets. Other fields, such as its id, times, sensitivity and lifecycle,
// are set by policy (document 004 §15.5): zero values pass, except for type and payload. path ends in a dot or is
// empty.
func (m *MemoryRecord) validate(p *check.Problems, path string) {
	found := check.Problems{Fields: slices.Clone(m.problems)}
	if !m.unbuilt { // a record that was not decoded has no type
		m.check(&found)
	}
	for i, f := range found.Fields {
		earlier := func(g FieldError) bool { return under(f.Field, g.Field) }
		if i >= len(m.problems) && slices.ContainsFunc(found.Fields[:i], earlier) {
			continue // the consequence of a listed problem
		}
		switch {
		case f.Field == "(json)" && path != "":
			f.Field = strings.TrimSuffix(path, ".")
		case f.Field != "(json)":
			f.Field = path + f.Field
		}
		p.Fields = append(p.Fields, f)
	}
}

func (m *MemoryRecord) check(p *check.Problems) {
	m.checkIdentity(p)
	m.checkWorth(p)
	m.checkTimes(p)
	m.checkEdges(p)
	checkRefs(p, "provenance.sources", m.Provenance.Sources)
	check.Text(p, "provenance.created_by", m.Provenance.CreatedBy, MaxNameLength)
	for i, entry := range m.AuditLog {
		at := fmt.Sprintf("audit_log[%d].", i)
		check.Enum(p, at+"action", entry.Action, auditActions)
		if entry.Action == "" {
			p.Add(at+"action", "is required")
		}
		check.Text(p, at+"actor", entry.Actor, MaxNameLength)
		check.Text(p, at+"rationale", entry.Rationale, MaxPayloadBytes)
		check.Year(p, at+"timestamp", entry.Timestamp)
	}
	if !m.Type.Valid() {
		p.Add("type", "must be one of %s", check.Names(memoryTypes))
		return
	}
	if m.ErasedAt != nil {
		return // the payload is erased and must not return
	}
	before := len(p.Fields)
	validatePayload(p, "payload", m.Type, m.Payload)
	if len(p.Fields) == before && len(m.problems) == 0 && before == 0 {
		m.checkShape(p)
	}
}

// checkShape checks the whole record against its JSON Schema, with defaults filled in.
func (m *MemoryRecord) checkShape(p *check.Problems) {
	c := *m
	if c.ID == "" {
		c.ID = uuid.Nil.String()
	}
	if c.Sensitivity == "" {
		c.Sensitivity = SensitivityLow
	}
	if c.Lifecycle.Decay.Curve == "" {
		c.Lifecycle.Decay.Curve = CurveExponential
	}
	c.Lifecycle.Decay.HalfLifeSeconds = max(c.Lifecycle.Decay.HalfLifeSeconds, 1)
	c.Version = max(c.Version, 1)
	if c.Provenance.Sources == nil {
		c.Provenance.Sources = []Ref{}
	}
	if c.Tags == nil {
		c.Tags = []string{}
	}
	if c.Relations == nil {
		c.Relations = []Relation{}
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		p.Add("(json)", "cannot be written as JSON")
		return
	}
	tree, err := check.BuildTree(encoded)
	if err != nil {
		p.Add("(json)", "cannot be written as JSON")
		return
	}
	jsonschema.Check(p, "", "MemoryRecord", tree)
}

func (m *MemoryRecord) checkIdentity(p *check.Problems) {
	checkID(p, "id", m.ID)
	checkID(p, "supersedes", m.Supersedes)
	checkID(p, "superseded_by", m.SupersededBy)
	for field, other := range map[string]string{"supersedes": m.Supersedes, "superseded_by": m.SupersededBy} {
		if other != "" && strings.EqualFold(other, m.ID) {
			p.Add(field, "is the record itself")
		}
	}
	check.Text(p, "external_id", m.ExternalID, MaxRefLength)
	for _, f := range []struct{ field, value string }{
		{"scope", m.Scope}, {"tenant", m.Tenant}, {"agent", m.Agent}, {"project", m.Project},
		{"policy_group", m.PolicyGroup}, {"who", m.Who},
		{"agent_session_id", m.Session}, {"agent_interaction_id", m.Interaction}, {"language", m.Language},
		{"key_id", m.KeyID},
		{"world_id", m.WorldID}, {"world_version", m.WorldVersion},
	} {
		check.Text(p, f.field, f.value, MaxNameLength)
	}
	check.Text(p, "safe_summary", m.SafeSummary, MaxSafeSummaryChars)
	check.Text(p, "content", m.Content, MaxContentBytes)
	if len(m.Content) > MaxContentBytes {
		p.Add("content", "must be at most %d bytes", MaxContentBytes)
	}
	check.Enum(p, "sensitivity", m.Sensitivity, sensitivities)
	check.Enum(p, "visibility", m.Visibility, visibilities)
	check.Enum(p, "category", m.Category, categories)
	check.Enum(p, "tier", m.Tier, tiers)
	check.Enum(p, "typology", m.Typology, typologies)
	check.Enum(p, "status", m.Status, statuses)
	check.Enum(p, "lifecycle.decay.curve", m.Lifecycle.Decay.Curve, decayCurves)
	check.Enum(p, "lifecycle.deletion_policy", m.Lifecycle.DeletionPolicy, deletionPolicies)
	if m.Tier == TierPersistent && m.Typology == TypologyEpisodic {
		p.Add("tier", "must not be persistent when typology is episodic")
	}
	checkTags(p, "tags", m.Tags)
}

func (m *MemoryRecord) checkWorth(p *check.Problems) {
	d := m.Lifecycle.Decay
	for _, f := range []struct {
		field string
		value float64
	}{
		{"confidence", m.Confidence}, {"salience", m.Salience}, {"importance", m.Importance},
		{"source_trust", m.SourceTrust},
		{"lifecycle.decay.min_salience", d.MinSalience}, {"lifecycle.decay.floor", d.Floor},
		{"lifecycle.decay.reinforcement_gain", d.ReinforcementGain},
	} {
		if !unit(f.value) {
			p.Add(f.field, "must be between 0 and 1")
		}
	}
	if n := d.HalfLifeSeconds; n < 0 || n > MaxDurationSeconds {
		p.Add("lifecycle.decay.half_life_seconds", "must be between 1 and %d", MaxDurationSeconds)
	}
	if n := d.MaxAgeSeconds; n < 0 || n > MaxDurationSeconds {
		p.Add("lifecycle.decay.max_age_seconds", "must be between 1 and %d", MaxDurationSeconds)
	}
	checkDecayPoints(p, "lifecycle.decay.points", d)
	if m.Version < 0 || m.Version > 1<<31-1 {
		p.Add("version", "must be between 1 and %d", 1<<31-1)
	}
	if m.AccessCount < 0 {
		p.Add("access_count", "must not be negative")
	}
	if m.AuditOmitted < 0 {
		p.Add("audit_omitted", "must not be negative")
	}
}

func (m *MemoryRecord) checkTimes(p *check.Problems) {
	for _, f := range []struct {
		field string
		at    *time.Time
	}{
		{"created_at", &m.CreatedAt}, {"updated_at", &m.UpdatedAt},
		{"lifecycle.last_reinforced_at", &m.Lifecycle.LastReinforcedAt},
		{"lifecycle.decay_due_at", m.Lifecycle.DecayDueAt}, {"salience_at", &m.SalienceAt},
		{"occurred_at", &m.OccurredAt},
		{"last_accessed_at", m.LastAccessed}, {"deleted_at", m.DeletedAt}, {"archived_at", m.ArchivedAt},
		{"superseded_at", m.SupersededAt}, {"erased_at", m.ErasedAt},
	} {
		if f.at != nil {
			check.Year(p, f.field, *f.at)
		}
	}
}

func (m *MemoryRecord) checkEdges(p *check.Problems) {
	if len(m.Relations) > MaxRelations {
		p.Add("relations", "must hold at most %d relations", MaxRelations)
		return
	}
	type edge struct{ predicate, target string }
	seen := make(map[edge]bool, len(m.Relations))
	for i, r := range m.Relations {
		at := fmt.Sprintf("relations[%d]", i)
		switch {
		case r.Predicate == "":
			p.Add(at+".predicate", "is required")
		case !relationPredicate.MatchString(r.Predicate):
			p.Add(at+".predicate", "must be a lower-case name of letters, digits and _, at most 64 characters")
		}
		if r.TargetID == "" {
			p.Add(at+".target_id", "is required")
		} else if strings.EqualFold(r.TargetID, m.ID) || r.TargetID == m.ExternalID {
			p.Add(at+".target_id", "is the record itself")
		}
		check.Text(p, at+".target_id", r.TargetID, MaxRefLength)
		check.Text(p, at+".reason", r.Reason, MaxReasonLength)
		if !unit(r.Weight) {
			p.Add(at+".weight", "must be between 0 and 1")
		}
		e := edge{r.Predicate, r.TargetID}
		if seen[e] {
			p.Add(at, "is given twice")
		}
		seen[e] = true
	}
}

// checkRefs checks evidence.
func checkRefs(p *check.Problems, field string, refs []Ref) {
	if len(refs) > MaxRecordRefs {
		p.Add(field, "must hold at most %d refs", MaxRecordRefs)
		return
	}
	for i, ref := range refs {
		at := fmt.Sprintf("%s[%d].", field, i)
		if !slices.Contains(refKinds, ref.Kind) {
			p.Add(at+"kind", "must be one of %s", strings.Join(refKinds, ", "))
		}
		if ref.Ref == "" {
			p.Add(at+"ref", "is required")
		}
		check.Text(p, at+"ref", ref.Ref, MaxRefLength)
		check.Text(p, at+"hash", ref.Hash, MaxNameLength)
		if ref.Timestamp != nil {
			check.Year(p, at+"timestamp", *ref.Timestamp)
		}
	}
}

func checkTags(p *check.Problems, field string, tags []string) {
	if len(tags) > MaxTags {
		p.Add(field, "must hold at most %d tags", MaxTags)
	}
	for i, tag := range tags[:min(len(tags), MaxTags)] {
		at := fmt.Sprintf("%s[%d]", field, i)
		if strings.TrimSpace(tag) == "" {
			p.Add(at, "is empty")
		}
		check.Text(p, at, tag, MaxTagLength)
	}
}

// checkID reports a value that is neither empty nor a UUID in the standard form.
func checkID(p *check.Problems, field, value string) {
	if value == "" {
		return
	}
	id, err := uuid.Parse(value)
	if err != nil || len(value) != 36 || id == uuid.Nil {
		p.Add(field, "must be a UUID")
	}
}
