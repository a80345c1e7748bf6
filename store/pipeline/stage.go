package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
)

// StageInput is one validated ingest request to be staged.
type StageInput struct {
	OperationID string   // a repeated id returns the first result
	OtherIDs    []string // see schema.OperationRef.Others
	WorkflowID  string
	Request     schema.IngestRequest
	Contents    string                // digest of the contents, with which an id is repeated; empty: with any
	Policy      proposals.WritePolicy // already narrowed by the request
	Rules       *policy.Policy        // classification rules in force; nil for none
	MaxAttempts int                   // of each candidate's job
	Now         time.Time
}

// Stage writes the batch, its candidates, their jobs and ledger events. Except in shadow mode it also writes the
// source memories: keyword search finds them as soon as it returns, and the ids in the acknowledgement are final.
func (s *Pipeline) Stage(ctx context.Context, in StageInput) (schema.IngestAck, error) {
	var ack schema.IngestAck
	p := in.Request.Principal
	whole := in.abridge()
	// Intake happens before the transaction, because a megabyte of text takes a while.
	intakes := make([]intake.Intake, len(in.Request.Candidates))
	for i, c := range in.Request.Candidates {
		intakes[i] = intake.Admit(c, p, in.Request.Visibility, in.Rules)
	}
	err := pg.RetryChange(ctx, func() error {
		return commit.Write(ctx, s.DB, p.Tenant, in.Now, func(c *commit.Change) error {
			keys := append([]string{in.OperationID}, in.OtherIDs...)
			done, err := c.Operation(ctx, keys, kindIngest, &ack)
			if err != nil {
				return err
			}
			digest, err := sameContents(ctx, c, keys, in.Contents)
			if err != nil || done {
				return err
			}
			st := staging{Change: c, in: in, intakes: intakes, whole: whole, batchID: pg.NewID()}
			if err := st.prepare(ctx); err != nil {
				return err
			}
			if err := st.insert(ctx); err != nil {
				return err
			}
			ack = st.ack()
			return c.RecordRequest(in.OperationID, kindIngest, digest, ack)
		})
	})
	if err != nil {
		return schema.IngestAck{}, fmt.Errorf("stage: %w", err)
	}
	return ack, nil
}

// staging is the state of one Stage.
type staging struct {
	*commit.Change
	in      StageInput
	intakes []intake.Intake // by candidate
	whole   map[int]wholeText
	batchID uuid.UUID
	items   []stagedItem
	events  []events.Row // one for each candidate that is handed in for the first time
}

// stagedItem is one candidate that is being staged.
type stagedItem struct {
	candidate schema.Candidate
	intake    intake.Intake
	id        uuid.UUID // of the candidate, and of the memory it becomes
	event     uuid.UUID // of the ledger's row; nil if there is none
	memoryID  uuid.UUID // id, or the memory that it duplicates
	state     string
	replayed  bool // its own idempotency key has a result
	textless  bool // its text is not kept: it has no memory to be forgotten with
}

const (
	stateStaged    = "staged"
	stateDuplicate = "duplicate"
	stateRecalled  = "recalled"
)

// prepare cleans and classifies every candidate and settles those that need no new row: recalled text, repeated
// idempotency keys, and duplicates within the batch.
func (st *staging) prepare(ctx context.Context) error {
	known, err := st.knownKeys(ctx)
	if err != nil {
		return err
	}
	seen := map[string]uuid.UUID{}
	for i, candidate := range st.in.Request.Candidates {
		it := stagedItem{candidate: candidate, intake: st.intakes[i], id: schema.CandidateID(st.batchID, i),
			state: stateStaged}
		it.memoryID = it.id
		if sourceKind(&candidate) != schema.SourceMemory {
			it.event = pg.NewID()
		}
		owner, visibility := st.ownerOf(&it)
		hash, key := strings.Join([]string{owner.Scope, string(visibility), string(it.intake.Classification.Type),
			string(it.intake.Text.Hash)}, "\x00"), ""
		if candidate.IdempotencyKey != "" {
			key = st.operationKey(candidate)
		}
		// The key is checked first: a replayed candidate is not written, so no other can be its duplicate.
		if id, ok := known[key]; ok && key != "" {
			it.state, it.memoryID, it.replayed = stateDuplicate, id, true
		} else if it.intake.Recalled {
			it.state = stateRecalled
		} else if first, ok := seen[hash]; ok {
			it.state, it.memoryID = stateDuplicate, first
		} else {
			seen[hash] = it.id
		}
		if key != "" {
			known[key] = it.memoryID // a key may occur twice in a batch
		}
		st.items = append(st.items, it)
	}
	return st.markTextless(ctx)
}

// markTextless finds the candidates whose text must not be stored, because a text without a memory could not be
// forgotten: the text came from recall, or the candidate is replayed and its memory was erased or removed. Memories
// that exist are locked until commit.
func (st *staging) markTextless(ctx context.Context) error {
	var replayed []uuid.UUID
	for _, it := range st.items {
		if it.replayed {
			replayed = append(replayed, it.memoryID)
		}
	}
	kept := map[uuid.UUID]bool{}
	if len(replayed) > 0 {
		var err error
		if kept, err = st.IdSet(ctx, `
			SELECT id
			FROM memories
			WHERE tenant = $1 AND id = ANY($2) AND erased_at IS NULL
			ORDER BY id
			FOR SHARE`, st.Tenant, replayed); err != nil {
			return err
		}
	}
	for i := range st.items {
		if it := &st.items[i]; it.state == stateStaged { // a staged candidate has a memory at commit
			kept[it.memoryID] = true
		}
	}
	for i := range st.items {
		it := &st.items[i]
		it.textless = it.state == stateRecalled || it.replayed && !kept[it.memoryID]
	}
	return nil
}

// knownKeys returns the first result of each of the batch's idempotency keys that has one. It locks the keys in
// order, so that requests with the same key run one after the other and a key has one result.
func (st *staging) knownKeys(ctx context.Context) (map[string]uuid.UUID, error) {
	known := map[string]uuid.UUID{}
	var keys []string
	for _, c := range st.in.Request.Candidates {
		if c.IdempotencyKey != "" {
			keys = append(keys, st.operationKey(c))
		}
	}
	if len(keys) == 0 {
		return known, nil
	}
	if err := st.LockOperations(ctx, keys); err != nil {
		return nil, err
	}
	results, err := commit.Rows[struct {
		ID       string
		MemoryID uuid.UUID
	}](ctx, st.Tx, `
		SELECT id, (result->>'memory_id')::uuid AS memory_id
		FROM operations
		WHERE tenant = @tenant AND id = ANY(@keys)`,
		pg.Args{"tenant": st.Tenant, "keys": keys})
	for _, r := range results {
		known[r.ID] = r.MemoryID
	}
	return known, err
}

func (st *staging) operationKey(c schema.Candidate) string {
	p := st.in.Request.Principal
	// The lengths make the keys unambiguous.
	if p.User != "" {
		return fmt.Sprintf("user-candidate/%d/%s/%d/%s/%s", len(p.Agent), p.Agent, len(p.User), p.User,
			c.IdempotencyKey)
	}
	return fmt.Sprintf("candidate/%d/%s/%s", len(p.Agent), p.Agent, c.IdempotencyKey)
}

func (st *staging) insert(ctx context.Context) error {
	r, p := &st.in.Request, st.in.Request.Principal
	shadow := st.in.Policy.Mode == schema.ModeShadow
	if err := st.settleDuplicates(ctx, shadow); err != nil {
		return err
	}
	st.Queue.Queue(batchSQL, pg.Args{
		"tenant":              st.Tenant,
		"id":                  st.batchID,
		"workflow_id":         st.in.WorkflowID,
		"agent_id":            p.Agent,
		"project":             p.Project,
		"scope":               p.EffectiveScope(),
		"policy_group":        p.PolicyGroup,
		"visibility":          r.Visibility,
		"mode":                st.in.Policy.Mode,
		"allow_update_delete": st.in.Policy.AllowUpdateDelete,
		"min_fact_confidence": st.in.Policy.MinFactConfidence,
		"supersede":           cmp.Or(st.in.Policy.Supersede, proposals.SupersedeReview),
		"size":                len(st.items),
		"created_at":          st.Now,
	})
	for i := range st.items {
		if err := st.queueItem(i); err != nil {
			return err
		}
	}
	if user := st.in.Request.Principal.User; user != "" && len(st.events) > 0 {
		events.QueueClaim(&st.Last, st.Tenant, user, st.events[0].Stream, st.Now)
	}
	return events.Queue(&st.Last, st.events)
}

var batchSQL = commit.Insert("ingest_batches", `tenant, id, workflow_id, agent_id, project, scope, policy_group,
	visibility, mode, allow_update_delete, min_fact_confidence, supersede, size, created_at`)

// settleDuplicates inserts the source memories and marks the candidates whose content a live memory has already. In
// shadow mode it inserts nothing.
func (st *staging) settleDuplicates(ctx context.Context, shadow bool) error {
	var rows []commit.NewMemory
	var at []int
	for i := range st.items {
		if st.items[i].state != stateStaged {
			continue
		}
		row := st.source(&st.items[i])
		if w, ok := st.whole[i]; ok && !shadow {
			var kept Artifact
			if err := putArtifact(ctx, st.Change, st.in.Request.Principal, w.sum, []byte(w.text), "text/plain",
				&kept); err != nil {
				return fmt.Errorf("artifact: %w", err)
			}
			row.Artifacts = [][]byte{w.sum}
		}
		rows = append(rows, row)
		at = append(at, i)
	}
	if !shadow {
		ids, err := st.InsertMemories(ctx, rows)
		if err != nil {
			return err
		}
		for n, i := range at {
			st.settle(i, ids[n])
		}
		return st.restageRepeated(ctx)
	}
	for n, i := range at {
		id, err := st.HoldLiveByHash(ctx, commit.DedupOf(&rows[n]))
		switch {
		case errors.Is(err, pgx.ErrNoRows):
		case err != nil:
			return err
		default:
			st.settle(i, id)
		}
	}
	return nil
}

// settle points a candidate, and those of the batch with the same content, at the stored memory.
func (st *staging) settle(i int, id uuid.UUID) {
	own := st.items[i].id
	if id == own {
		return
	}
	st.items[i].state = stateDuplicate
	for k := range st.items {
		if st.items[k].memoryID == own {
			st.items[k].memoryID = id
		}
	}
}

// ownerOf returns the owner and the visibility of a candidate's memory: those of the request, unless a rule sets
// others. The content hash is unique within them.
func (st *staging) ownerOf(it *stagedItem) (schema.Principal, schema.Visibility) {
	owner, cl := st.in.Request.Principal.Owner(), &it.intake.Classification
	owner.Scope = cmp.Or(cl.Scope, owner.Scope)
	return owner, cmp.Or(cl.Visibility, st.in.Request.Visibility)
}

// source is the memory that holds a candidate's own text.
func (st *staging) source(it *stagedItem) commit.NewMemory {
	c, cl := &it.candidate, it.intake.Classification
	owner, visibility := st.ownerOf(it)
	metadata := it.intake.Explanation.Metadata()
	metadata["batch_id"], metadata["workflow_id"] = st.batchID, st.in.WorkflowID
	return commit.NewMemory{
		ID: it.id, Owner: owner, Visibility: visibility,
		Classification: cl, Text: it.intake.Text,
		Payload: st.payload(it, owner), Who: c.Speaker, Session: c.Session,
		Confidence: cl.Confidence, RevisionPolicy: cl.RevisionPolicy, SourceTrust: cl.SourceTrust,
		OccurredAt: occurredAt(c, st.Now), CreatedBy: "agent:" + owner.Agent, Refs: it.provenance(st.Now),
		Reason:   "ingested as " + string(sourceKind(c)),
		Metadata: metadata,
	}
}

// provenance returns the provenance of a candidate's memory: the references of the request, or else the candidate
// itself and its event.
func (it *stagedItem) provenance(now time.Time) []schema.Ref {
	if len(it.candidate.Refs) > 0 {
		return it.candidate.Refs
	}
	event := ""
	if it.event != uuid.Nil {
		event = it.event.String()
	}
	return proposals.HandedIn(sourceKind(&it.candidate), it.id.String(), event, occurredAt(&it.candidate, now))
}

// payload returns the payload of a candidate's memory, from the structure of its text or else by its type.
func (st *staging) payload(it *stagedItem, owner schema.Principal) any {
	if it.intake.Payload != nil {
		return it.intake.Payload
	}
	c := &it.candidate
	source := memory.Source{
		ID:             it.id.String(),
		Type:           it.intake.Classification.Type,
		Kind:           sourceKind(c),
		Text:           it.intake.Text.Storage,
		By:             cmp.Or(c.Speaker, owner.Agent),
		Session:        c.Session,
		At:             occurredAt(c, st.Now),
		Evidence:       it.provenance(st.Now),
		RevisionPolicy: it.intake.Classification.RevisionPolicy,
	}
	if len(c.Refs) > 0 {
		source.Ref = c.Refs[0].Ref
	}
	return source.Payload()
}

var candidateSQL = commit.BulkInsert("memory_candidates", `tenant text, id uuid, batch_id uuid, ordinal integer,
	state text, memory_id uuid, source_kind text, content text, category text, speaker text, session text,
	sensitivity text, tags text[], refs jsonb, occurred_at timestamptz, created_at timestamptz`, "")

// queueItem queues the rows of a candidate.
func (st *staging) queueItem(i int) error {
	it := &st.items[i]
	if err := st.queueCandidate(i, it); err != nil {
		return err
	}
	if it.event != uuid.Nil {
		st.queueEvent(it)
	}
	st.queueOutcome(it)
	if it.candidate.IdempotencyKey != "" && !it.replayed {
		return st.RecordOperation(st.operationKey(it.candidate), kindCandidate,
			map[string]any{"memory_id": it.memoryID})
	}
	return nil
}

func (st *staging) queueCandidate(i int, it *stagedItem) error {
	c, cl, text := it.candidate, it.intake.Classification, it.intake.Text.Storage
	if it.textless {
		c.Refs, c.Speaker, c.Session, cl.Tags, text = nil, "", "", nil, ""
	}
	refs, err := json.Marshal(append([]schema.Ref{}, c.Refs...))
	if err != nil {
		return fmt.Errorf("refs: %w", err)
	}
	st.Add(candidateSQL, pg.Args{
		"tenant":      st.Tenant,
		"id":          it.id,
		"batch_id":    st.batchID,
		"ordinal":     i,
		"state":       it.state,
		"memory_id":   it.memoryID,
		"source_kind": sourceKind(&c),
		"content":     text,
		"category":    cl.Category,
		"speaker":     c.Speaker,
		"session":     c.Session,
		"sensitivity": cl.Sensitivity,
		"tags":        pg.TagList(cl.Tags),
		"refs":        string(refs),
		"occurred_at": occurredAt(&c, st.Now),
		"created_at":  st.Now,
	})
	return nil
}

// queueEvent queues the candidate's row in the ledger. It has no text, session or memory if the text is not stored.
func (st *staging) queueEvent(it *stagedItem) {
	p := st.in.Request.Principal
	row := events.Row{
		Stream:      ledger.IngestStream(p.Agent, p.User),
		ID:          it.event.String(),
		Agent:       p.Agent,
		PolicyGroup: p.PolicyGroup,
		Kind:        string(sourceKind(&it.candidate)),
		Visibility:  schema.VisibilityPrivate,
		Sensitivity: it.intake.Classification.Sensitivity,
		OccurredAt:  occurredAt(&it.candidate, st.Now),
		RecordedAt:  st.Now,
	}
	if !it.textless {
		row.Candidate, row.Memory, row.Session = &it.id, &it.memoryID, it.candidate.Session
	}
	st.events = append(st.events, row)
}

// queueOutcome queues the job of a new memory, or says in the history why there is none.
func (st *staging) queueOutcome(it *stagedItem) {
	entry := commit.HistoryRow{MemoryID: it.memoryID, Event: schema.EventNone,
		By:       "agent:" + st.in.Request.Principal.Agent,
		Metadata: map[string]any{"batch_id": st.batchID, "candidate_id": it.id, "workflow_id": st.in.WorkflowID}}
	switch it.state {
	case stateDuplicate:
		entry.Reason = "duplicate of a live memory: not written again"
		if it.replayed {
			entry.Reason = "idempotency key seen before: first result returned"
			entry.Metadata["replayed"] = true
		}
		st.History(entry)
	case stateRecalled:
		entry.Reason = "came out of recall: not learned again"
		st.History(entry)
	case stateStaged:
		st.queueJob(it)
	}
}

func (st *staging) ack() schema.IngestAck {
	ack := schema.IngestAck{BatchID: st.batchID.String()}
	for i, it := range st.items {
		ack.MemoryIDs = append(ack.MemoryIDs, it.memoryID.String())
		switch it.state {
		case stateDuplicate:
			ack.Deduped = append(ack.Deduped, i)
		case stateRecalled:
			ack.Recalled = append(ack.Recalled, i)
		}
	}
	return ack
}

func sourceKind(c *schema.Candidate) schema.SourceKind {
	if c.SourceKind == "" {
		return schema.SourceObservation
	}
	return c.SourceKind
}

func occurredAt(c *schema.Candidate, now time.Time) time.Time {
	if c.OccurredAt != nil {
		return c.OccurredAt.UTC()
	}
	return now
}
