package edit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// lockStoredSQL locks the tenant's memories that have an id of a record.
var lockStoredSQL = `
	SELECT ` + commit.RowColumns + `
	FROM memories m
	WHERE m.tenant = @tenant AND (m.id = ANY(@ids) OR m.external_id = ANY(@external_ids))
	ORDER BY m.id
	FOR UPDATE OF m`

// recordsSQL reads records by id.
var recordsSQL = `
	SELECT ` + commit.RecordColumns + commit.RecordTables + `
	WHERE m.tenant = @tenant AND m.id = ANY(@ids)`

// readStored locks and reads the tenant's memories that have an id of a record, even those that the principal may
// not read, because their ids are taken.
func (p *putting) readStored(ctx context.Context) error {
	ids, externals := make([]uuid.UUID, 0, len(p.items)), []string{}
	for i := range p.items {
		ids = append(ids, p.items[i].key)
		if external := p.items[i].record.ExternalID; external != "" {
			externals = append(externals, external)
		}
	}
	rows, _ := p.Tx.Query(ctx, lockStoredSQL,
		pg.Args{"tenant": p.Tenant, "ids": ids, "external_ids": externals})
	locked, err := pgx.CollectRows(rows, commit.ScanRow)
	if err != nil {
		return err
	}
	if p.forgotten, err = p.ForgottenIDs(ctx, ids); err != nil {
		return err
	}
	p.stored, p.external = map[uuid.UUID]putStored{}, map[string]uuid.UUID{}
	if len(locked) == 0 {
		return nil
	}
	ids = ids[:0]
	for _, m := range locked {
		p.stored[m.ID] = putStored{row: m}
		ids = append(ids, m.ID)
	}
	rows, _ = p.Tx.Query(ctx, recordsSQL, pg.Args{"tenant": p.Tenant, "ids": ids})
	records, err := pgx.CollectRows(rows, commit.ScanRecord)
	if err != nil {
		return err
	}
	for _, m := range records {
		id, err := uuid.Parse(m.ID)
		if err != nil {
			return err
		}
		p.stored[id] = putStored{row: p.stored[id].row, record: m}
		if m.ExternalID != "" {
			p.external[m.ExternalID] = id
		}
	}
	return nil
}

// gather reads the input of the decision under the locks. It writes nothing.
func (p *putting) gather(ctx context.Context) (revision.Put, error) {
	out := revision.Put{
		Principal: p.in.Request.Principal,
		Mode:      p.in.Policy.Mode,
		Stored:    map[string]revision.PutStored{},
	}
	for id, m := range p.stored {
		payload, err := commit.StoredPayload(m.record)
		if err != nil {
			payload = nil // equals no other
		}
		out.Stored[id.String()] = revision.PutStored{
			Record:  m.record,
			Holding: m.row.Holding(),
			Payload: payload,
			Live:    m.row.Live,
		}
	}
	seen := map[uuid.UUID]bool{}
	for i := range p.items {
		it := &p.items[i]
		record := revision.PutRecord{ID: it.key.String(), Put: it.record}
		if !seen[it.key] {
			seen[it.key] = true
			if err := p.examine(ctx, i, &record); err != nil {
				return out, err
			}
		}
		out.Records = append(out.Records, record)
	}
	return out, p.readLinks(ctx, &out)
}

// examine converts the record to a row, and finds the memories that conflict with it.
func (p *putting) examine(ctx context.Context, i int, record *revision.PutRecord) error {
	it := &p.items[i]
	row, err := p.toRow(ctx, i)
	var reference *commit.ReferenceError
	if errors.As(err, &reference) {
		record.UnknownReference = reference.Field
		return nil
	}
	if err != nil {
		return err
	}
	it.row = &row
	record.Kept, record.Owner, record.Hash, record.Validity = keptRecord(&row), row.Owner, row.Text.Hash, row.Validity
	if it.claim != nil {
		record.Claim = it.claim.Key()
	}
	m, stored := p.stored[it.key]
	if !stored && it.record.ExternalID != "" {
		m, stored = p.stored[p.external[it.record.ExternalID]]
	}
	if stored {
		record.Stored = m.row.ID.String()
		if m.row.Live && m.row.Type == schema.TypeWorking { // memories of other types keep their content
			record.Twin, err = p.twin(ctx, commit.DedupKey{
				Owner:      m.row.Owner,
				Visibility: m.row.Visibility,
				Type:       m.row.Type,
				Hash:       row.Text.Hash,
			})
		}
		return err
	}
	// A record with an external id may be put again after it was forgotten.
	record.Forgotten = it.record.ExternalID == "" && slices.Contains(p.forgotten, it.key)
	if record.Forgotten || !row.Status.Live() {
		return nil
	}
	record.Twin, err = p.twin(ctx, commit.DedupOf(&row))
	if err != nil || record.Twin != "" || it.claim == nil || record.Kept.Status != schema.StatusActive {
		return err
	}
	holders, err := p.Claimants(ctx, row.Owner, row.Visibility, row.Claim.Subject, row.Claim.Predicate)
	for _, h := range holders {
		record.Holders = append(record.Holders,
			revision.ClaimHolder{ID: h.ID.String(), Hash: h.Hash, Validity: h.Validity})
	}
	return err
}

// toRow converts a record to the row to store. If it cannot be stored, the error names the field within the
// request; for an unknown reference it is a *commit.ReferenceError.
func (p *putting) toRow(ctx context.Context, i int) (commit.NewMemory, error) {
	it, r := &p.items[i], &p.in.Request
	defaults := commit.RecordDefaults{
		Owner:      r.Principal,
		By:         r.By(),
		Reason:     r.Reason,
		Classified: &it.class,
		Together:   p.together,
		Aliases:    p.aliases,
		Metadata:   p.metadata(),
		Evidence:   proposals.PutEvidence(it.record.Provenance, r.By()),
	}
	if i < len(p.in.Embeddings) {
		defaults.Embedding = p.in.Embeddings[i]
	}
	row, err := p.FromRecord(ctx, it.record, defaults)
	var invalid *schema.ValidationError
	if errors.As(err, &invalid) {
		for f := range invalid.Fields {
			invalid.Fields[f].Field = fmt.Sprintf("records[%d].%s", i, invalid.Fields[f].Field)
		}
		return row, invalid
	}
	return row, err
}

// twin returns the id of the live memory with a content, or "".
func (p *putting) twin(ctx context.Context, key commit.DedupKey) (string, error) {
	id, err := p.LiveByHash(ctx, key)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id.String(), err
}

// linksSQL reads memories as members of chains.
const linksSQL = `
	SELECT id, version, live
	FROM memories
	WHERE tenant = @tenant AND id = ANY(@ids)`

// olderSQL reads the predecessors of memories, in any number of steps.
const olderSQL = `
	WITH RECURSIVE chain AS (
		SELECT source_id AS newer, target_id AS older
		FROM memory_links
		WHERE tenant = @tenant AND source_id = ANY(@ids) AND predicate = 'supersedes'
		UNION
		SELECT r.source_id, r.target_id
		FROM chain c
		JOIN memory_links r ON r.tenant = @tenant AND r.source_id = c.older AND r.predicate = 'supersedes'
	)
	SELECT newer, older FROM chain`

// readLinks reads the chains of revisions of memories that the records name.
func (p *putting) readLinks(ctx context.Context, put *revision.Put) error {
	named, err := chained(put.Records)
	if err != nil || len(named) == 0 {
		return err
	}
	args := pg.Args{"tenant": p.Tenant, "ids": named}
	type link struct {
		ID      uuid.UUID
		Version int
		Live    bool
	}
	rows, _ := p.Tx.Query(ctx, linksSQL, args)
	links, err := pgx.CollectRows(rows, pgx.RowToStructByName[link])
	if err != nil {
		return err
	}
	put.Links = map[string]revision.PutLink{}
	for _, m := range links {
		put.Links[m.ID.String()] = revision.PutLink{Version: m.Version, Live: m.Live}
	}
	rows, _ = p.Tx.Query(ctx, olderSQL, args)
	edges, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct{ Newer, Older uuid.UUID }])
	if err != nil {
		return err
	}
	put.Older = map[string][]string{}
	for _, e := range edges {
		put.Older[e.Newer.String()] = append(put.Older[e.Newer.String()], e.Older.String())
	}
	return nil
}

// chained lists the memories whose chains the decision needs: the predecessors and successors of records, the
// records themselves, and memories that may represent a record. It is empty if no record names any.
func chained(records []revision.PutRecord) ([]uuid.UUID, error) {
	var names, others []string
	for i := range records {
		r := &records[i]
		names = append(names, r.Kept.Supersedes, r.Kept.SupersededBy)
		for _, edge := range r.Kept.Relations {
			if edge.Predicate == revision.RelationSupersedes {
				names = append(names, edge.TargetID)
			}
		}
		others = append(others, r.ID, r.Twin)
		for _, h := range r.Holders {
			others = append(others, h.ID)
		}
	}
	none := func(id string) bool { return id == "" }
	if names = slices.DeleteFunc(names, none); len(names) == 0 {
		return nil, nil
	}
	names = append(names, slices.DeleteFunc(others, none)...)
	slices.Sort(names)
	names = slices.Compact(names)
	out := make([]uuid.UUID, 0, len(names))
	for _, name := range names {
		id, err := uuid.Parse(name)
		if err != nil {
			return nil, err // unreachable: they are ids of memories
		}
		out = append(out, id)
	}
	return out, nil
}

// keptRecord returns a row to insert as the record that a reader will get.
func keptRecord(row *commit.NewMemory) schema.MemoryRecord {
	cl := row.Classification
	out := schema.MemoryRecord{
		ID:          row.ID.String(),
		ExternalID:  row.ExternalID,
		Type:        cl.Type,
		Sensitivity: cl.Sensitivity,
		Confidence:  row.Confidence,
		Salience:    *row.Salience,
		Scope:       row.Owner.Scope,
		Tags:        cl.Tags,
		Lifecycle: schema.Lifecycle{
			Decay:          cl.Decay.Profile(),
			Pinned:         cl.Pinned,
			DeletionPolicy: cl.DeletionPolicy,
		},
		Payload:      mustRaw(row.Payload),
		Agent:        row.Owner.Agent,
		Visibility:   row.Visibility,
		Category:     cl.Category,
		Tier:         cl.Tier,
		Typology:     cl.Typology,
		Content:      row.Text.Storage,
		Who:          row.Who,
		Importance:   cl.Importance,
		Status:       cmp.Or(row.Status, schema.StatusActive),
		Session:      row.Session,
		Interaction:  row.Interaction,
		SourceTrust:  *row.SourceTrust,
		Language:     cmp.Or(row.Language, "en"),
		KeyID:        row.KeyID,
		WorldID:      row.WorldID,
		WorldVersion: row.WorldVersion,
		SafeSummary:  row.SafeSummary,
	}
	if row.Supersedes != nil {
		out.Supersedes = row.Supersedes.String()
	}
	if row.SupersededBy != nil {
		out.SupersededBy = row.SupersededBy.String()
	}
	for _, edge := range row.Relations {
		out.Relations = append(out.Relations, schema.Relation{
			Predicate: edge.Predicate,
			TargetID:  edge.Target.String(),
			Weight:    edge.Weight,
			Reason:    edge.Reason,
		})
	}
	return out
}

// edgesTo converts relations for writing.
func edgesTo(relations []schema.Relation) ([]commit.Relation, error) {
	out := make([]commit.Relation, 0, len(relations))
	for _, edge := range relations {
		target, err := uuid.Parse(edge.TargetID)
		if err != nil {
			return nil, err // unreachable: it is the id of a memory
		}
		out = append(out, commit.Relation{
			Predicate: edge.Predicate,
			Target:    target,
			Weight:    edge.Weight,
			Reason:    edge.Reason,
		})
	}
	return out, nil
}

// optionalID reads an id that may be missing.
func optionalID(id string) (*uuid.UUID, error) {
	if id == "" {
		return nil, nil
	}
	parsed, err := uuid.Parse(id)
	return &parsed, err
}

// mustRaw returns the payload of a row made by FromRecord.
func mustRaw(payload any) json.RawMessage {
	raw, _ := payload.(json.RawMessage)
	return raw
}
