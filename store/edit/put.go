package edit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// PutInput is one valid put to carry out.
type PutInput struct {
	Operation  pipeline.Operation
	Request    schema.PutRequest
	Policy     proposals.WritePolicy // already narrowed by the request
	Rules      *policy.Policy        // classification rules; nil for none
	Embeddings []*pg.Embedding       // by position of the record; nil where there is none, or none at all
	Now        time.Time
}

// Put writes full records (document 004 §15A), all in one transaction. Each record has a status of its
// own: one that is refused does not keep the others from being written, except those that refer to it.
// Every record leaves a history row, whatever its status. Carried out again, the operation answers with
// the first result and changes nothing.
func (s *Editing) Put(ctx context.Context, in PutInput) (schema.PutResult, error) {
	result, err := pg.RetryOnConflict(ctx, func() (schema.PutResult, error) {
		p := &putting{in: in}
		p.classify()
		return pipeline.RunOnce(ctx, s.DB, in.Operation, pipeline.KindPut, in.Now,
			func(c *commit.Change) (schema.PutResult, error) {
				if len(in.Request.Records) == 0 {
					// swept before it was carried out
					return schema.PutResult{}, fmt.Errorf("the request: %w", pg.ErrNotFound)
				}
				p.Change = c
				return p.run(ctx)
			})
	})
	if err != nil {
		return schema.PutResult{}, fmt.Errorf("put: %w", err)
	}
	return result, nil
}

// putting is one Put call at work.
type putting struct {
	*commit.Change
	in       PutInput
	items    []putItem
	together map[uuid.UUID]bool
	aliases  map[string]uuid.UUID              // external ids of the request's records
	standing map[uuid.UUID]schema.MemoryRecord // what is stored under the ids that the records bring
	external map[string]uuid.UUID              // likewise, by external id
	rows     map[uuid.UUID]commit.MemoryRow    // likewise, locked
	// of the ids that the records bring, those whose memories were forgotten by force
	forgotten []uuid.UUID
}

// putItem is one record on its way in.
type putItem struct {
	schema.PutItem
	record schema.MemoryRecord
	class  commit.Classified
	key    uuid.UUID // under which it is kept
	fresh  bool      // no row has its id
	taken  bool      // an earlier record of the request has its id
	silent bool      // the principal may not see what prevents it, and history does not mention it
	row    commit.NewMemory
	claim  string // the functional claim of a semantic record; empty without one
}

// writes reports whether the record changes anything.
func (it *putItem) writes() bool {
	return it.Status == schema.PutCreated || it.Status == schema.PutUpdated || it.Status == schema.PutDiscarded
}

// inserts reports whether the record becomes a new row.
func (it *putItem) inserts() bool { return it.writes() && it.fresh }

func (it *putItem) keepStored(status schema.PutStatus, id uuid.UUID) {
	it.Status, it.ID, it.Version = status, id.String(), 0
}

func (it *putItem) refuse(field string) {
	it.Status, it.Version, it.Problem = schema.PutBadRef, 0, (&commit.ReferenceError{Field: field}).Error()
}

// classify classifies the records, before the transaction begins.
func (p *putting) classify() {
	r := &p.in.Request
	defaults := commit.RecordDefaults{Owner: r.Principal, Visibility: r.Visibility, Rules: p.in.Rules}
	for _, m := range r.Records {
		p.items = append(p.items, putItem{record: m, class: defaults.Classify(m)})
	}
}

func (p *putting) run(ctx context.Context) (schema.PutResult, error) {
	if err := p.prepare(ctx); err != nil {
		return schema.PutResult{}, err
	}
	for i := range p.items {
		if err := p.decide(ctx, i); err != nil {
			return schema.PutResult{}, err
		}
	}
	p.settleReferences()
	if err := p.settleChains(ctx); err != nil {
		return schema.PutResult{}, err
	}
	p.settleTrust()
	if p.in.Policy.Mode == schema.ModeControlled {
		if err := p.write(ctx); err != nil {
			return schema.PutResult{}, err
		}
	} else {
		p.refuseAll()
	}
	var result schema.PutResult
	for i := range p.items {
		p.noteRefusal(&p.items[i])
		result.Items = append(result.Items, p.items[i].PutItem)
	}
	return result, nil
}

// prepare settles the records' ids, takes the locks in one order for all writers (scopes, claims, rows), and reads
// the stored rows of the ids.
func (p *putting) prepare(ctx context.Context) error {
	p.together, p.aliases = map[uuid.UUID]bool{}, map[string]uuid.UUID{}
	scopes, claims := map[string]schema.Principal{}, []commit.ClaimOf{}
	externals := []string{}
	for i := range p.items {
		it := &p.items[i]
		m := &it.record
		it.key = commit.RecordID(p.Tenant, *m)
		it.ID, it.ExternalID = it.key.String(), m.ExternalID
		if it.ExternalID != "" {
			externals = append(externals, it.ExternalID)
			p.aliases[it.ExternalID] = it.key
		}
		m.ID = it.ID
		it.taken = p.together[it.key]
		p.together[it.key] = true

		o, v := it.class.Owner, it.class.Visibility
		scopes[o.Scope] = o
		var payload schema.SemanticPayload
		if m.Type == schema.TypeSemantic && json.Unmarshal(m.Payload, &payload) == nil {
			if cl := memory.RecordClaim(payload); cl.Functional {
				claim := commit.ClaimOf{Owner: o, Visibility: v, Subject: cl.Subject, Predicate: cl.Predicate}
				claims = append(claims, claim)
				it.claim = claim.Key()
			}
		}
	}
	for _, scope := range sortedKeys(scopes) {
		if err := p.LockScope(ctx, scopes[scope]); err != nil {
			return err
		}
	}
	if err := p.LockClaims(ctx, claims); err != nil {
		return err
	}
	return p.readStored(ctx, externals)
}

// readStored locks and reads the tenant's memories under the ids that the records bring, also those
// that the principal may not look at: their ids are taken.
func (p *putting) readStored(ctx context.Context, externals []string) error {
	ids := make([]uuid.UUID, 0, len(p.items))
	for i := range p.items {
		ids = append(ids, p.items[i].key)
	}
	rows, err := p.Tx.Query(ctx, `SELECT `+commit.RowColumns+` FROM memories m WHERE m.tenant = $1
		AND (m.id = ANY($2) OR m.external_id = ANY($3))
		ORDER BY m.id FOR UPDATE OF m`, p.Tenant, ids, externals)
	if err != nil {
		return err
	}
	locked, err := pgx.CollectRows(rows, commit.ScanRow)
	if err != nil {
		return err
	}
	if p.forgotten, err = p.ForgottenIDs(ctx, ids); err != nil {
		return err
	}
	p.rows, p.standing, p.external = map[uuid.UUID]commit.MemoryRow{}, map[uuid.UUID]schema.MemoryRecord{},
		map[string]uuid.UUID{}
	if len(locked) == 0 {
		return nil
	}
	ids = ids[:0]
	for _, m := range locked {
		p.rows[m.ID] = m
		ids = append(ids, m.ID)
	}
	rows, err = p.Tx.Query(ctx, `SELECT `+commit.RecordColumns+commit.RecordTables+`WHERE m.tenant = $1
		AND m.id = ANY($2)`, p.Tenant, ids)
	if err != nil {
		return err
	}
	records, err := pgx.CollectRows(rows, commit.ScanRecord)
	if err != nil {
		return err
	}
	for _, m := range records {
		id, err := uuid.Parse(m.ID)
		if err != nil {
			return err
		}
		p.standing[id] = m
		if m.ExternalID != "" {
			p.external[m.ExternalID] = id
		}
	}
	return nil
}

// decide settles what becomes of one record, without writing.
func (p *putting) decide(ctx context.Context, i int) error {
	it := &p.items[i]
	r := &p.in.Request
	if it.taken { // the one makes from its external id what the other has as its own
		m, stored := p.rows[it.key]
		it.Status, it.Problem, it.silent = schema.PutExists, "id: is that of another record of the request", stored &&
			!memory.MayLook(r.Principal, m.Holding())
		return nil
	}
	defaults := commit.RecordDefaults{Owner: r.Principal, By: r.By(), Reason: r.Reason, Classified: &it.class,
		Together: p.together, Aliases: p.aliases, Metadata: p.metadata(),
		Evidence: proposals.PutEvidence(it.record.Provenance, r.By())}
	if i < len(p.in.Embeddings) {
		defaults.Embedding = p.in.Embeddings[i]
	}
	row, err := p.FromRecord(ctx, it.record, defaults)
	var reference *commit.ReferenceError
	var invalid *schema.ValidationError
	switch {
	case errors.As(err, &reference):
		it.Status, it.Problem = schema.PutBadRef, reference.Error()
		return nil
	case errors.As(err, &invalid):
		for f := range invalid.Fields {
			invalid.Fields[f].Field = fmt.Sprintf("records[%d].%s", i, invalid.Fields[f].Field)
		}
		return invalid
	case err != nil:
		return err
	}
	it.row = row
	id, taken := it.key, false
	if _, taken = p.rows[id]; !taken && it.ExternalID != "" {
		id, taken = p.external[it.ExternalID]
	}
	if taken {
		return p.decideStored(ctx, it, id)
	}
	if slices.Contains(p.forgotten, id) { // its history has ended; the content may be learned again under another id
		it.Status, it.silent = schema.PutExists, true
		return nil
	}
	if err := p.decideNew(ctx, i); err != nil {
		return err
	}
	if it.Status == schema.PutCreated && it.row.Classification.Type == schema.TypeSemantic &&
		len(proposals.PayloadEvidence(mustRaw(it.row.Payload))) == 0 {
		it.Status, it.Version, it.Problem = schema.PutNoEvidence, 0,
			"payload.evidence: is required; or provenance, or a person as actor"
	}
	return nil
}

// decideStored settles a record whose id is that of a stored one.
func (p *putting) decideStored(ctx context.Context, it *putItem, id uuid.UUID) error {
	m, stored := p.rows[id], p.standing[id]
	it.ID, it.Status = id.String(), schema.PutExists
	if !memory.MayLook(p.in.Request.Principal, m.Holding()) {
		it.ID, it.silent = it.key.String(), true // what has the external id stays unknown
		return nil
	}
	it.Version = m.Version
	switch {
	case !memory.MayChange(p.in.Request.Principal, m.Holding()): // the agent's, read by a user
	case id != it.key || m.DeletedAt != nil || m.ArchivedAt != nil || m.Type != it.record.Type:
	case sameRecord(stored, it.record, it.row):
		it.Status = schema.PutUnchanged
	case !m.Live, !it.row.Status.Live(): // what is believed is superseded by a revision
	case m.Type != schema.TypeWorking && m.Type != schema.TypeEpisodic:
	case it.record.Version > 0 && it.record.Version != m.Version:
		it.Status = schema.PutVersion
	case m.Type == schema.TypeEpisodic:
		it.Status, it.Problem = schema.PutAppendOnly, p.whyNotExtended(it, m)
		if it.Problem == "" {
			it.Status = schema.PutUpdated
		}
	default:
		// Where it is belongs to it: a replaced record does not change hands.
		it.row.Owner, it.row.Visibility = m.Owner, m.Visibility
		holder, err := p.LiveByHash(ctx, commit.DedupKey{Owner: m.Owner, Visibility: m.Visibility, Type: m.Type,
			Hash: it.row.Text.Hash})
		switch {
		case err == nil && holder != id:
			it.ID, it.Status, it.Version = holder.String(), schema.PutDuplicate, 0
		case err != nil && !errors.Is(err, pgx.ErrNoRows):
			return err
		case workingDone(it.record):
			it.Status = schema.PutDiscarded
		default:
			it.Status = schema.PutUpdated
		}
	}
	return nil
}

// whyNotExtended says what a put would do to an episode other than let it grow, or "".
func (p *putting) whyNotExtended(it *putItem, m commit.MemoryRow) string {
	if content := normalize.StorageContent(it.record.Content); content != "" && content != m.Content {
		return "content: of an episode does not change"
	}
	if field := memory.EpisodeGrows(m.Payload, mustRaw(it.row.Payload)); field != "" {
		return "payload." + field + ": of an episode does not change"
	}
	if memory.SameJSON(m.Payload, mustRaw(it.row.Payload)) &&
		(it.row.SafeSummary == "" || it.row.SafeSummary == p.standing[m.ID].SafeSummary) {
		return "payload: has not grown, and nothing else of an episode can be put again"
	}
	return ""
}

// decideNew settles a record whose id is free.
func (p *putting) decideNew(ctx context.Context, i int) error {
	it := &p.items[i]
	it.Status, it.Version, it.fresh = schema.PutCreated, 1, true
	if workingDone(it.record) {
		it.Status = schema.PutDiscarded
	}
	row := &it.row
	if !row.Status.Live() {
		return nil // a record that is not believed conflicts with none
	}
	for k := range p.items[:i] {
		if earlier := &p.items[k]; earlier.inserts() && earlier.row.Status.Live() &&
			commit.DedupOf(&earlier.row).Same(commit.DedupOf(row)) {
			it.keepStored(schema.PutDuplicate, earlier.key)
			return nil
		}
	}
	holder, err := p.LiveByHash(ctx, commit.DedupOf(row))
	if err == nil {
		it.keepStored(schema.PutDuplicate, holder)
		return nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if it.claim == "" || cmp.Or(row.Status, schema.StatusActive) != schema.StatusActive {
		return nil
	}
	for k := range p.items[:i] {
		earlier := &p.items[k]
		if earlier.inserts() && earlier.claim == it.claim &&
			cmp.Or(earlier.row.Status, schema.StatusActive) == schema.StatusActive &&
			memory.SameGround(earlier.row.Validity, row.Validity) {
			it.keepStored(schema.PutConflict, earlier.key)
			return nil
		}
	}
	holders, err := p.Claimants(ctx, row.Owner, row.Visibility, row.Claim.Subject, row.Claim.Predicate)
	if err != nil {
		return err
	}
	for _, h := range holders {
		if !memory.SameGround(h.Validity, row.Validity) {
			continue
		}
		if bytes.Equal(h.Hash, row.Text.Hash) {
			it.keepStored(schema.PutDuplicate, h.ID)
		} else {
			it.keepStored(schema.PutConflict, h.ID)
		}
		return nil
	}
	return nil
}

// settleReferences refuses records that refer to refused ones of the same request, and lets references to a duplicate
// lead to the stored memory. A second call does the rest.
func (p *putting) settleReferences() {
	instead := map[uuid.UUID]uuid.UUID{}
	for i := range p.items {
		if it := &p.items[i]; it.Status == schema.PutDuplicate {
			instead[it.key] = uuid.MustParse(it.ID)
		}
	}
	for again := true; again; {
		again = false
		there := map[uuid.UUID]bool{}
		for i := range p.items {
			it := &p.items[i]
			m, stored := p.rows[it.key]
			there[it.key] = there[it.key] || it.Status.Stands() || stored && memory.MayLook(p.in.Request.Principal,
				m.Holding())
		}
		for i := range p.items {
			it := &p.items[i]
			if !it.writes() {
				continue
			}
			refused := func(id *uuid.UUID) bool { return id != nil && p.together[*id] && !there[*id] }
			switch {
			case it.fresh && refused(it.row.Supersedes):
				it.refuse("supersedes")
			case it.fresh && refused(it.row.SupersededBy):
				it.refuse("superseded_by")
			default:
				k := slices.IndexFunc(it.row.Relations,
					func(edge commit.Relation) bool { return refused(&edge.Target) })
				if k < 0 {
					continue
				}
				it.refuse(fmt.Sprintf("relations[%d].target_id", k))
			}
			again = true
		}
	}
	for i := range p.items {
		row := &p.items[i].row
		row.Relations = redirected(row.Relations, instead, row.ID)
		for _, id := range [...]*uuid.UUID{row.Supersedes, row.SupersededBy} {
			if id != nil {
				*id = follow(instead, *id)
			}
		}
	}
}

// redirected replaces targets that were not inserted by the stored ones, leaving out what would lead back to the
// record itself.
func redirected(edges []commit.Relation, instead map[uuid.UUID]uuid.UUID, self uuid.UUID) []commit.Relation {
	out := edges[:0]
	for _, edge := range edges {
		edge.Target = follow(instead, edge.Target)
		if edge.Target != self {
			out = append(out, edge)
		}
	}
	return out
}

// follow returns the memory that replaces a memory, or the memory itself.
func follow(instead map[uuid.UUID]uuid.UUID, id uuid.UUID) uuid.UUID {
	for range len(instead) {
		next, ok := instead[id]
		if !ok {
			break
		}
		id = next
	}
	return id
}

// actorTrust is the actor that lowers the trust of memories derived from less trusted ones.
const actorTrust = "trust-policy"
