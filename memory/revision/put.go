package revision

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Put is the input of PlanPut: the records of a request and the stored memories that matter for them.
type Put struct {
	Principal schema.Principal
	Mode      schema.WriteMode // only the mode controlled writes
	Records   []PutRecord      // in the order of the request

	// Stored has the memories with the id or the external id of a record, by id, even if the principal may not see
	// them.
	Stored map[string]PutStored
	// Links has the stored memories that a record may supersede or be superseded by, by id.
	Links map[string]PutLink
	// Older has the ids that each stored memory supersedes, for Links and all memories that they lead to.
	Older map[string][]string
}

// PutRecord is one record with the stored data about it.
type PutRecord struct {
	ID   string              // id under which the record is stored
	Put  schema.MemoryRecord // as in the request
	Kept schema.MemoryRecord // as it would be stored

	Owner    schema.Principal // the owner that it would have
	Hash     []byte           // memory.RecordHash
	Claim    string           // key of the functional claim and its readers; empty without one
	Validity schema.Validity  // of a semantic record

	// UnknownReference is a field that refers to a memory that does not exist or that the principal may not see. Then
	// the record cannot be stored, and Kept is zero.
	UnknownReference string
	Stored           string        // id of the memory that has the record's id or external id; empty for none
	Forgotten        bool          // a memory of this id was forgotten by force
	Twin             string        // id of the live memory with the same owner, place and content; empty for none
	Holders          []ClaimHolder // memories that make its claim, active ones first
}

// PutStored is a stored memory.
type PutStored struct {
	Record  schema.MemoryRecord
	Holding memory.Holding
	Payload json.RawMessage // as stored, without the fields about revisions
	Live    bool
}

// PutLink is a stored memory as a link of a chain of revisions.
type PutLink struct {
	Version int
	Live    bool
}

// ClaimHolder is a memory that makes a claim.
type ClaimHolder struct {
	ID       string
	Hash     []byte
	Validity schema.Validity
}

// PutVerdict is the decision about one record.
type PutVerdict struct {
	Status  schema.PutStatus
	ID      string           // of the record, or of the memory that prevents it
	Version int              // of the memory with that ID; 0 if it is not disclosed
	Problem string           // names a field, never a value
	WouldBe schema.PutStatus // the status that it would have in mode controlled, if only the mode prevents the write
	New     bool             // no memory has the record's id
	Silent  bool             // the principal may not see what prevents the record: history does not mention it

	// Values with which the record is stored.
	Relations    []schema.Relation
	Supersedes   string
	SupersededBy string
	SourceTrust  float64
	Sensitivity  schema.Sensitivity
}

// Writes reports whether the record changes anything.
func (v *PutVerdict) Writes() bool {
	return v.Status == schema.PutCreated || v.Status == schema.PutUpdated || v.Status == schema.PutDiscarded
}

// Inserts reports whether the record becomes a new memory.
func (v *PutVerdict) Inserts() bool { return v.Writes() && v.New }

// Yield sets the status for a record that is not stored because of another memory.
func (v *PutVerdict) Yield(status schema.PutStatus, id string) {
	v.Status, v.ID, v.Version = status, id, 0
}

// Note returns the text of the history entry for a record that was not written, on the memory that prevents it. It
// returns "" if there is no separate entry.
func (v *PutVerdict) Note() string {
	switch v.Status {
	case schema.PutDuplicate:
		return "duplicate of a live memory: not written again"
	case schema.PutUnchanged:
		return "put again unchanged: not written again"
	case schema.PutExists:
		if v.Silent {
			return "" // the history of a memory must not mention principals who may not see it
		}
		return string(v.Status)
	case schema.PutConflict, schema.PutAppendOnly, schema.PutVersion, schema.PutBadRef, schema.PutCycle,
		schema.PutNoEvidence:
		return string(v.Status)
	default:
		return ""
	}
}

// PlanPut decides what happens to the records of a put (document 004 §15A). It changes nothing. The verdicts are in
// the order of the records; a refused record causes only the refusal of records that refer to it.
//
//   - A record with an unknown reference is refused.
//   - A record with the id of a stored memory: an equal record is unchanged, working memory is replaced or, when its
//     task is done, discarded (§6), and an episode may grow (§5). All other stored memories are only changed by
//     revisions.
//   - A record with a new id is created, unless a live memory has its content (duplicate) or an active fact makes its
//     claim with the same validity (§15.1), either stored or earlier in the request. A semantic record needs evidence
//     (§7).
//   - Chains of revisions have no cycles, and live memories are only superseded by revisions (§12).
//   - A record is trusted no more than the memories it is derived from, and is at least as sensitive.
//   - In a mode that does not write, nothing is written: WouldBe is the status that it would have.
func PlanPut(p Put) []PutVerdict {
	plan := putPlan{Put: p, verdicts: make([]PutVerdict, len(p.Records)), together: map[string]bool{}}
	for i := range p.Records {
		plan.verdicts[i] = plan.begin(i)
		plan.decide(i)
	}
	plan.settleReferences()
	links := plan.linksAfter()
	for plan.refuseChains(links) {
		plan.settleReferences()
	}
	plan.settleTrust()
	plan.applyMode()
	return plan.verdicts
}

// putPlan is the state of one PlanPut.
type putPlan struct {
	Put
	verdicts []PutVerdict
	together map[string]bool // the ids of the records
}

// begin returns the initial verdict of a record.
func (p *putPlan) begin(i int) PutVerdict {
	r := &p.Records[i]
	return PutVerdict{
		ID:           r.ID,
		Relations:    slices.Clone(r.Kept.Relations),
		Supersedes:   r.Kept.Supersedes,
		SupersededBy: r.Kept.SupersededBy,
		SourceTrust:  r.Kept.SourceTrust,
		Sensitivity:  r.Kept.Sensitivity,
	}
}

// mayLook reports whether the principal may read the stored memory of an id.
func (p *putPlan) mayLook(id string) bool {
	m, stored := p.Stored[id]
	return stored && memory.MayLook(p.Principal, m.Holding)
}

// decide decides about a record, given the records before it.
func (p *putPlan) decide(i int) {
	r, v := &p.Records[i], &p.verdicts[i]
	taken := p.together[r.ID]
	p.together[r.ID] = true
	switch {
	case taken: // the id derived from an external id may equal the id of another record
		_, stored := p.Stored[r.ID]
		v.Status, v.Problem = schema.PutExists, "id: is that of another record of the request"
		v.Silent = stored && !p.mayLook(r.ID)
	case r.UnknownReference != "":
		v.Status, v.Problem = schema.PutBadRef, unknownReference(r.UnknownReference)
	case r.Stored != "":
		p.decideStored(r, v)
	case r.Forgotten: // its history has ended; the content may be learned again under another id
		v.Status, v.Silent = schema.PutExists, true
	default:
		p.decideNew(i)
		if v.Status == schema.PutCreated && r.Kept.Type == schema.TypeSemantic && !hasEvidence(r.Kept) {
			v.Status, v.Version = schema.PutNoEvidence, 0
			v.Problem = "payload.evidence: is required; or provenance, or a person as actor"
		}
	}
}

// unknownReference returns the problem of a record that refers to a memory that does not exist.
func unknownReference(field string) string { return field + ": does not exist" }

// decideStored decides about a record with the id of a stored memory.
func (p *putPlan) decideStored(r *PutRecord, v *PutVerdict) {
	m := p.Stored[r.Stored]
	v.Status = schema.PutExists
	if !p.mayLook(r.Stored) {
		v.Silent = true // do not disclose which memory has the external id
		return
	}
	stored := &m.Record
	v.ID, v.Version = r.Stored, stored.Version
	gone := stored.DeletedAt != nil || stored.ArchivedAt != nil
	switch {
	case !memory.MayChange(p.Principal, m.Holding): // the agent's, read by a user
	case r.Stored != r.ID || gone || stored.Type != r.Put.Type:
	case sameRecord(m, r):
		v.Status = schema.PutUnchanged
	case !m.Live, !r.Kept.Status.Live(): // only a revision supersedes a live memory
	case stored.Type != schema.TypeWorking && stored.Type != schema.TypeEpisodic:
	case r.Put.Version > 0 && r.Put.Version != stored.Version:
		v.Status = schema.PutVersion
	case stored.Type == schema.TypeEpisodic:
		v.Status, v.Problem = schema.PutAppendOnly, whyNotExtended(m, r)
		if v.Problem == "" {
			v.Status = schema.PutUpdated
		}
	case r.Twin != "" && r.Twin != r.Stored:
		v.Yield(schema.PutDuplicate, r.Twin)
	case TaskDone(r.Put):
		v.Status = schema.PutDiscarded
	default:
		v.Status = schema.PutUpdated
	}
}

// whyNotExtended returns the problem of a put that would change more of an episode than append-only growth, or "".
func whyNotExtended(m PutStored, r *PutRecord) string {
	content := normalize.StorageContent(r.Put.Content)
	if content != "" && content != m.Record.Content {
		return "content: of an episode does not change"
	}
	if field := memory.EpisodeGrows(m.Payload, r.Kept.Payload); field != "" {
		return "payload." + field + ": of an episode does not change"
	}
	sameSummary := r.Kept.SafeSummary == "" || r.Kept.SafeSummary == m.Record.SafeSummary
	if sameSummary && memory.SameJSON(m.Payload, r.Kept.Payload) {
		return "payload: has not grown, and an episode can only grow"
	}
	return ""
}

// decideNew decides about a record with a new id.
func (p *putPlan) decideNew(i int) {
	r, v := &p.Records[i], &p.verdicts[i]
	v.Status, v.Version, v.New = schema.PutCreated, 1, true
	if TaskDone(r.Put) {
		v.Status = schema.PutDiscarded
	}
	if !r.Kept.Status.Live() {
		return // a record that is not live conflicts with no other
	}
	for k := range p.Records[:i] {
		earlier := &p.Records[k]
		if p.verdicts[k].Inserts() && earlier.Kept.Status.Live() && sameMemory(earlier, r) {
			v.Yield(schema.PutDuplicate, earlier.ID)
			return
		}
	}
	if r.Twin != "" {
		v.Yield(schema.PutDuplicate, r.Twin)
		return
	}
	if r.Claim == "" || r.Kept.Status != schema.StatusActive {
		return
	}
	for k := range p.Records[:i] {
		earlier := &p.Records[k]
		sameClaim := earlier.Claim == r.Claim && earlier.Kept.Status == schema.StatusActive
		if p.verdicts[k].Inserts() && sameClaim && memory.SameGround(earlier.Validity, r.Validity) {
			v.Yield(schema.PutConflict, earlier.ID)
			return
		}
	}
	for _, h := range r.Holders {
		if !memory.SameGround(h.Validity, r.Validity) {
			continue
		}
		if memory.SameContent(h.Hash, r.Hash) {
			v.Yield(schema.PutDuplicate, h.ID)
		} else {
			v.Yield(schema.PutConflict, h.ID)
		}
		return
	}
}

// sameMemory reports whether two records have the same owner, place and content. Two live memories never have.
func sameMemory(a, b *PutRecord) bool {
	return a.Owner.Agent == b.Owner.Agent && a.Owner.Project == b.Owner.Project && a.Owner.Scope == b.Owner.Scope &&
		a.Kept.Visibility == b.Kept.Visibility && a.Kept.Type == b.Kept.Type && memory.SameContent(a.Hash, b.Hash)
}

// settleReferences refuses records that refer to refused ones of the same request, and redirects references to a
// duplicate to the stored memory. It can be called again after verdicts have changed.
func (p *putPlan) settleReferences() {
	instead := map[string]string{}
	for i := range p.verdicts {
		if v := &p.verdicts[i]; v.Status == schema.PutDuplicate {
			instead[p.Records[i].ID] = v.ID
		}
	}
	for p.refuseReferences() {
	}
	for i := range p.verdicts {
		v := &p.verdicts[i]
		v.Relations = Redirect(v.Relations, instead, p.Records[i].ID)
		v.Supersedes, v.SupersededBy = follow(instead, v.Supersedes), follow(instead, v.SupersededBy)
	}
}

// refuseReferences refuses records that refer to refused ones, and reports whether there were any.
func (p *putPlan) refuseReferences() bool {
	there := map[string]bool{}
	for i := range p.verdicts {
		id := p.Records[i].ID
		there[id] = there[id] || p.verdicts[i].Status.Stands() || p.mayLook(id)
	}
	refused := func(id string) bool { return p.together[id] && !there[id] }
	found := false
	for i := range p.verdicts {
		v := &p.verdicts[i]
		if !v.Writes() {
			continue
		}
		var field string
		switch {
		case v.New && refused(v.Supersedes):
			field = "supersedes"
		case v.New && refused(v.SupersededBy):
			field = "superseded_by"
		default:
			k := slices.IndexFunc(v.Relations, func(edge schema.Relation) bool { return refused(edge.TargetID) })
			if k < 0 {
				continue
			}
			field = fmt.Sprintf("relations[%d].target_id", k)
		}
		v.Status, v.Version, v.Problem = schema.PutBadRef, 0, unknownReference(field)
		found = true
	}
	return found
}

// Redirect replaces the targets of relations according to instead, and drops relations that would lead to the record
// itself.
func Redirect(edges []schema.Relation, instead map[string]string, self string) []schema.Relation {
	out := edges[:0]
	for _, edge := range edges {
		edge.TargetID = follow(instead, edge.TargetID)
		if edge.TargetID != self {
			out = append(out, edge)
		}
	}
	return out
}

// follow returns the memory that replaces a memory, or the memory itself.
func follow(instead map[string]string, id string) string {
	for range len(instead) {
		next, ok := instead[id]
		if !ok {
			break
		}
		id = next
	}
	return id
}

// settleTrust propagates trust and sensitivity along derivations within the request, until nothing changes. Trust only
// falls and sensitivity only rises, so that it terminates even if derivations form a cycle.
func (p *putPlan) settleTrust() {
	written := map[string]*PutVerdict{}
	for i := range p.verdicts {
		if v := &p.verdicts[i]; v.Writes() {
			written[p.Records[i].ID] = v
		}
	}
	for again := true; again; {
		again = false
		for i := range p.verdicts {
			v := &p.verdicts[i]
			if !v.Writes() {
				continue
			}
			for _, edge := range v.Relations {
				trust, sensitivity, ok := p.worthOf(written, edge)
				if !ok {
					continue
				}
				before := *v
				v.SourceTrust = memory.DerivedTrust(v.SourceTrust, trust)
				own := memory.Classification{Sensitivity: v.Sensitivity}
				v.Sensitivity = own.DerivedFrom(sensitivity).Sensitivity
				again = again || v.SourceTrust != before.SourceTrust || v.Sensitivity != before.Sensitivity
			}
		}
	}
}

// worthOf returns the trust and the sensitivity of a source that is in the same request, or replaced by it.
func (p *putPlan) worthOf(written map[string]*PutVerdict, edge schema.Relation) (float64, schema.Sensitivity, bool) {
	if edge.Predicate != RelationDerivedFrom {
		return 0, "", false
	}
	if source, ok := written[edge.TargetID]; ok {
		return source.SourceTrust, source.Sensitivity, true
	}
	if source, ok := p.Stored[edge.TargetID]; ok {
		return source.Record.SourceTrust, source.Record.Sensitivity, true
	}
	return 0, "", false
}

// applyMode turns all writes into WouldBe in a mode that does not write.
func (p *putPlan) applyMode() {
	status := schema.PutShadow
	switch p.Mode {
	case schema.ModeControlled:
		return
	case schema.ModeFrozen:
		status = schema.PutFrozen
	}
	for i := range p.verdicts {
		if v := &p.verdicts[i]; v.Writes() {
			v.WouldBe, v.Status, v.Version = v.Status, status, 0
		}
	}
}

// TaskDone reports whether a record is working memory whose task has ended (document 004 §6).
func TaskDone(m schema.MemoryRecord) bool {
	return m.Type == schema.TypeWorking && memory.PayloadOf[schema.WorkingPayload](m).State == schema.TaskDone
}
