package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Who changed a memory, as history names it.
const (
	actorPipeline = "pipeline"
	actorShadow   = "pipeline-shadow"
)

// Machine reasons that only the commit can give; the others are package memory's.
const (
	reasonParentForgotten  = "parent_forgotten"
	ReasonDuplicate        = "duplicate_content_hash"
	reasonActiveFactExists = "active_fact_exists"
	reasonStale            = "candidates_changed"
)

// WriteInput is one run of candidates whose proposals are to be written.
type WriteInput struct {
	Range     Range
	MaxRounds int // decisions after which a proposal that is still stale is blocked for review
	Now       time.Time
	// Sources are embeddings of source memories that have none yet, by memory id.
	Sources map[uuid.UUID]pg.Embedding
	Rules   *policy.Policy // classification rules in force; nil for none
}

// pendingProposal is a proposal as write reads it.
type pendingProposal struct {
	ID            uuid.UUID
	CandidateID   uuid.UUID
	Ordinal       int // of the fact within the candidate
	ParentID      uuid.UUID
	Fact          memory.Fact
	Offered       []offeredRef
	Proposal      memory.Proposal
	TargetID      *uuid.UUID
	Rounds        int
	Embedding     *pgvector.Vector
	Model         *string
	Refs          []schema.Ref
	Session       string
	Speaker       string
	Sensitivity   schema.Sensitivity
	OccurredAt    time.Time
	ParentTags    []string
	ParentContent string
	SourceKind    schema.SourceKind
	Also          []uuid.UUID // memories that say the same as the target
}

// seen is a memory's state at commit.
type seen struct {
	version  int
	live     bool
	neighbor memory.Neighbor
	tier     schema.Tier
	typology schema.Typology
	trust    float64           // [0,1]
	standing revision.Standing // what KeepsItsPlace asks for, but for the sources

	scope       string
	visibility  schema.Visibility
	sensitivity schema.Sensitivity
}

// Write evaluates the proposals of a range and commits what they change, under the scope's lock.
//
// What a proposal was decided on is read again first: where a neighbour it was offered has another
// version, or is gone, the proposal becomes stale and nothing is done with it. Where its source was
// forgotten meanwhile, nothing is written. Every proposal evaluated leaves a history row on its
// source memory. Writing a range again finds no proposal left and changes nothing.
func (s *Pipeline) Write(ctx context.Context, in WriteInput) (schema.WriteCounts, error) {
	var counts schema.WriteCounts
	err := pg.AgainAlone(ctx, func() error {
		return commit.Write(ctx, s.DB, in.Range.Tenant, in.Now, func(c *commit.Change) error {
			batch, err := readBatch(ctx, c.Tx, c.Tenant, in.Range.BatchID)
			if err != nil {
				return err
			}
			if err := c.LockScope(ctx, batch.Owner); err != nil {
				return err
			}
			actor := actorPipeline
			if batch.Policy.Mode == schema.ModeShadow {
				actor = actorShadow
			}
			w := newWriting(c, batch, actor, in.Rules)
			if err := w.load(ctx, in); err != nil {
				return err
			}
			for i := range w.proposals {
				if err := w.evaluate(ctx, &w.proposals[i], in.MaxRounds); err != nil {
					return err
				}
			}
			if err := w.insertAdds(ctx); err != nil {
				return err
			}
			if err := w.corroborate(ctx); err != nil {
				return err
			}
			w.embedSources(in.Sources)
			counts = w.counts
			return nil
		})
	})
	if err != nil {
		return schema.WriteCounts{}, fmt.Errorf("write proposals: %w", err)
	}
	return counts, nil
}

// writing applies proposals of one batch: those that the pipeline may apply by itself (Write), or one
// that a person has approved (DecideProposal).
type writing struct {
	*commit.Change
	batch     Batch
	actor     string // whom history names
	rules     *policy.Policy
	review    *reviewing
	proposals []pendingProposal
	known     map[uuid.UUID]seen // sources, and every neighbour that was offered
	adds      []commit.NewMemory
	addFor    []*pendingProposal // the proposal behind each add
	added     addedFrames        // what the adds of this change say
	claimed   map[string][]byte  // functional claims that this change adds, with the content's hash
	said      []restatement
	counts    schema.WriteCounts
}

func newWriting(c *commit.Change, batch Batch, actor string, rules *policy.Policy) *writing {
	return &writing{Change: c, batch: batch, actor: actor, rules: rules, known: map[uuid.UUID]seen{}, claimed: map[string][]byte{}}
}

const (
	proposalColumns = `p.id, p.candidate_id, c.memory_id, p.fact, p.offered, p.action, p.target_id, p.confidence, p.reason, p.warnings, p.rounds,
		p.embedding, p.embedding_model, c.refs, c.session, c.speaker, c.sensitivity, c.occurred_at, c.tags, c.content, c.source_kind,
		coalesce(nullif(p.change, 'none'), ''), p.own, p.also, p.ordinal`
	proposalTables = ` FROM proposals p JOIN memory_candidates c ON c.tenant = p.tenant AND c.id = p.candidate_id `
)

func scanProposal(row pgx.CollectableRow) (pendingProposal, error) {
	var p pendingProposal
	err := row.Scan(&p.ID, &p.CandidateID, &p.ParentID, &p.Fact, &p.Offered, &p.Proposal.Action, &p.TargetID, &p.Proposal.Confidence,
		&p.Proposal.Reason, &p.Proposal.Warnings, &p.Rounds, &p.Embedding, &p.Model, &p.Refs, &p.Session, &p.Speaker, &p.Sensitivity,
		&p.OccurredAt, &p.ParentTags, &p.ParentContent, &p.SourceKind, &p.Proposal.Change, &p.Proposal.Own, &p.Also, &p.Ordinal)
	if p.TargetID != nil {
		p.Proposal.TargetID = p.TargetID.String()
	}
	return p, err
}

// load reads the proposals of a range and what they were decided on.
func (w *writing) load(ctx context.Context, in WriteInput) error {
	r := in.Range
	rows, err := w.Tx.Query(ctx, `WITH `+InRange+` SELECT `+strings.ReplaceAll(proposalColumns, "c.", "own.")+`
		FROM proposals p CROSS JOIN LATERAL (SELECT * FROM c WHERE c.id = p.candidate_id AND c.state = 'staged' OFFSET 0) own
		WHERE p.tenant = $1 AND p.batch_id = $2 AND p.candidate_id = ANY(ARRAY(SELECT id FROM c)) AND p.state = 'proposed'
		ORDER BY own.ordinal, p.ordinal
		FOR UPDATE OF p`, r.Tenant, r.BatchID, r.From, r.To)
	if err != nil {
		return err
	}
	if w.proposals, err = pgx.CollectRows(rows, scanProposal); err != nil {
		return err
	}
	if err := w.lockFacts(ctx); err != nil {
		return err
	}
	ids := make([]uuid.UUID, 0, len(w.proposals)*2+len(in.Sources))
	for _, p := range w.proposals {
		ids = append(ids, p.ParentID)
		for _, o := range p.Offered {
			id, err := uuid.Parse(o.ID)
			if err != nil {
				return fmt.Errorf("offered id: %w", err)
			}
			ids = append(ids, id)
		}
	}
	for id := range in.Sources {
		ids = append(ids, id)
	}
	return w.look(ctx, ids, "SHARE")
}

// look reads what stands now, and keeps it so until commit. Who is going to change what it looks at
// locks it for that ("UPDATE") at once.
func (w *writing) look(ctx context.Context, ids []uuid.UUID, lock string) error {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	rows, err := w.Tx.Query(ctx, `SELECT id, version, live, content, content_hash, category, pinned, tier, typology, source_trust, scope, visibility, sensitivity,
			who, occurred_at, type, status, confidence, revision_policy, validity, conditions, valid_from, valid_until FROM memories
		WHERE tenant = $1 AND id = ANY($2) ORDER BY id FOR `+lock, w.Tenant, slices.Compact(ids))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id uuid.UUID
		var m seen
		s := &m.standing
		if err := rows.Scan(&id, &m.version, &m.live, &m.neighbor.Content, &m.neighbor.Hash, &m.neighbor.Category, &m.neighbor.Pinned, &m.tier, &m.typology, &m.trust,
			&m.scope, &m.visibility, &m.sensitivity, &m.neighbor.Who, &m.neighbor.OccurredAt, &s.Type, &s.Status, &s.Confidence, &s.Policy, &s.Validity.Mode, &s.Validity.Conditions, &s.Validity.Start, &s.Validity.End); err != nil {
			return err
		}
		m.neighbor.ID, m.neighbor.Version, s.SourceTrust = id.String(), m.version, m.trust
		m.neighbor.Type, m.neighbor.Status = s.Type, s.Status
		w.known[id] = m
	}
	return rows.Err()
}

// evaluate settles one proposal, or leaves it to insertAdds.
func (w *writing) evaluate(ctx context.Context, p *pendingProposal, maxRounds int) error {
	shadow := w.batch.Policy.Mode == schema.ModeShadow
	parent, stored := w.known[p.ParentID]
	if !shadow && (!stored || !parent.live) {
		w.settle(p, proposals.Verdict{State: schema.ProposalSkipped, Reason: reasonParentForgotten}, nil)
		return nil
	}
	if p.Rounds < maxRounds && w.changesAdded(p) {
		w.decideAgain(p)
		return nil
	}
	if w.stale(p) {
		if p.Rounds < maxRounds {
			w.decideAgain(p)
			return nil
		}
		w.settle(p, proposals.Verdict{State: schema.ProposalBlocked, Reason: reasonStale, ReviewNeeded: true}, nil)
		return nil
	}
	var target *memory.Neighbor
	if p.TargetID != nil {
		n := w.known[*p.TargetID].neighbor
		var err error
		if n.Kept, err = w.keepsItsPlace(ctx, p); err != nil {
			return err
		}
		target = &n
	}
	verdict := proposals.EvaluateWrite(w.batch.Policy, p.Fact, p.Proposal, target)
	if verdict.State != schema.ProposalApplied {
		known := p.TargetID
		if known == nil && verdict.Reason == proposals.ReasonAlreadyKnown {
			known = &p.ParentID
		}
		if verdict.Reason == proposals.ReasonAlreadyKnown && stored && *known == p.ParentID && !p.Fact.Claim.IsZero() {
			w.Claim(p.ParentID, p.Fact.Claim) // the source itself states it
			w.Hint(p.ParentID, p.Fact.AllHints())
		}
		if verdict.Reason == proposals.ReasonAlreadyKnown {
			w.saidAgain(p, *known)
		}
		w.settle(p, verdict, known)
		return nil
	}
	return w.apply(ctx, p, verdict)
}

// keepsItsPlace reports whether the target of an update or a delete is not for the fact to replace.
func (w *writing) keepsItsPlace(ctx context.Context, p *pendingProposal) (bool, error) {
	held, ok := w.known[*p.TargetID]
	if !ok || held.standing.Type != schema.TypeSemantic || p.Proposal.Action != schema.ActionUpdate && p.Proposal.Action != schema.ActionDelete {
		return false, nil
	}
	sources, err := w.CountSources(ctx, []uuid.UUID{*p.TargetID})
	if err != nil {
		return false, err
	}
	add := w.factMemory(p, nil)
	said := add.Standing()
	if len(p.Refs) > 0 { // otherwise the memory that it is drawn from is its reference
		said.Sources++
	}
	held.standing.Sources = sources[*p.TargetID]
	if p.Proposal.Change == memory.ChangeSupersede {
		// What was said before the change, however often, does not speak against it.
		said.Sources = max(said.Sources, held.standing.Sources)
		held.standing.Status = schema.StatusActive
	}
	return revision.KeepsItsPlace(held.standing, said), nil
}

// apply carries a proposal out, as far as it is not left to insertAdds.
func (w *writing) apply(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	switch p.Proposal.Action {
	case schema.ActionDelete:
		return w.applyDelete(ctx, p, v)
	case schema.ActionUpdate:
		return w.applyUpdate(ctx, p, v)
	default:
		return w.applyAdd(ctx, p, v)
	}
}

// stale reports whether a neighbour that was offered has changed since.
func (w *writing) stale(p *pendingProposal) bool {
	for _, o := range p.Offered {
		id, err := uuid.Parse(o.ID)
		if err != nil {
			return true
		}
		if m, ok := w.known[id]; !ok || !m.live || m.version != o.Version {
			return true
		}
	}
	return false
}

// applyAdd queues a new memory for insertion, unless its claim contradicts one that holds.
func (w *writing) applyAdd(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	add := w.factMemory(p, nil)
	settled, err := w.settleConflict(ctx, p, v, &add)
	if err != nil || settled {
		return err
	}
	w.adds = append(w.adds, add)
	w.addFor = append(w.addFor, p)
	return nil
}

// factMemory is the memory that a fact becomes: in the scope of its source and visible to whom that is,
// unless a rule says otherwise. What was pinned stays so in the record that lasts.
func (w *writing) factMemory(p *pendingProposal, supersedes *uuid.UUID) commit.NewMemory {
	owner, visibility := w.batch.Owner, w.batch.Visibility
	parent, stored := w.known[p.ParentID]
	if stored {
		owner.Scope, visibility = parent.scope, parent.visibility
	} else {
		parent.trust = 1 // shadow mode: nothing comes of it
	}
	explained := intake.AdmitFact(p.Fact, intake.FactSource{Principal: owner, Visibility: visibility, Trust: parent.trust,
		Candidate: schema.Candidate{SourceKind: p.SourceKind, Speaker: p.Speaker, Session: p.Session, OccurredAt: &p.OccurredAt, Refs: p.Refs,
			Tags: p.ParentTags, Sensitivity: p.Sensitivity}}, w.rules)
	cl := explained.Classification
	owner.Scope, visibility = cmp.Or(cl.Scope, owner.Scope), cmp.Or(cl.Visibility, visibility)
	text := normalize.Normalize(p.Fact.Content)
	if parent.neighbor.Pinned && bytes.Equal(text.Hash, parent.neighbor.Hash) {
		cl.Pinned, cl.Importance, cl.DeletionPolicy = true, 1, memory.DefaultDeletion(cl.Type, true)
	}
	claim := p.Fact.Claim
	subject, predicate, object := claim.Subject, claim.Predicate, claim.Object
	if claim.IsZero() {
		subject, predicate, object = p.Speaker, schema.PredicateStates, p.Fact.Content
		if subject == "" {
			subject = owner.Agent
		}
	}
	payload := SemanticPayload(subject, predicate, object, claim.Functional)
	payload.RevisionPolicy, payload.Evidence = cl.RevisionPolicy, p.evidence()
	m := commit.NewMemory{
		ID: pg.NewID(), Owner: owner, Visibility: visibility, Classification: cl, Text: text,
		Payload: payload, SourceTrust: cl.SourceTrust, RevisionPolicy: cl.RevisionPolicy,
		Who: p.Speaker, Session: p.Session, Claim: claim, Confidence: cl.Confidence, OccurredAt: p.OccurredAt,
		CreatedBy: w.actor, Refs: p.evidence(), DerivedFrom: &p.ParentID, Supersedes: supersedes, Hints: append([]memory.Hint{}, p.Fact.AllHints()...),
		Reason: w.because(p), Metadata: w.metadata(p, proposals.Verdict{}),
	}
	maps.Copy(m.Metadata, explained.Metadata())
	if p.Embedding != nil && p.Model != nil {
		v := p.Embedding.Slice()
		m.Embedding = &pg.Embedding{Model: inference.EmbeddingModel{Name: *p.Model, Dimensions: len(v)}, Vector: v}
	}
	return m
}

// insertAdds inserts the new memories of the change and settles their proposals.
func (w *writing) insertAdds(ctx context.Context) error {
	if len(w.adds) == 0 {
		return nil
	}
	if err := w.Flush(ctx); err != nil { // updates and deletes first: they free hashes and claims
		return err
	}
	ids, err := w.InsertMemories(ctx, w.adds)
	if err != nil {
		return err
	}
	for i, id := range ids {
		p, add := w.addFor[i], &w.adds[i]
		if id != add.ID {
			if id == p.ParentID { // the source says exactly this, and had no hints of a model's
				w.Hint(id, add.Hints)
			}
			w.saidAgain(p, id)
			if against := contradicts(add); len(against) > 0 && !slices.Contains(against, id) {
				if err := w.contestBeside(ctx, id, p, against); err != nil {
					return err
				}
			}
			replaced := replaced(add)
			if len(replaced) == 0 && w.review == nil {
				w.settle(p, proposals.Verdict{State: schema.ProposalSkipped, Reason: ReasonDuplicate}, &id)
				continue
			}
			if err := w.succeed(ctx, id, p, add, replaced); err != nil {
				return err
			}
		}
		w.settle(p, proposals.Verdict{State: schema.ProposalApplied}, &id)
		if p.Proposal.Action == schema.ActionUpdate {
			w.counts.Updated++
		} else {
			w.counts.Added++
		}
	}
	return nil
}

// replaced lists what a new memory supersedes.
func replaced(m *commit.NewMemory) []uuid.UUID {
	var out []uuid.UUID
	if m.Supersedes != nil {
		out = append(out, *m.Supersedes)
	}
	for _, r := range m.Relations {
		if r.Predicate == revision.RelationSupersedes {
			out = append(out, r.Target)
		}
	}
	return out
}

// succeed makes a memory that says the same already the successor of what an add has superseded.
func (w *writing) succeed(ctx context.Context, id uuid.UUID, p *pendingProposal, add *commit.NewMemory, replaced []uuid.UUID) error {
	for _, old := range replaced {
		// No version of its own: this change has superseded it already, by a successor that did not go in.
		// Nobody has seen that version, and history tells the one step.
		w.Queue.Queue(`UPDATE memories SET superseded_by = $3 WHERE tenant = $1 AND id = $2`, w.Tenant, old, id)
		w.Relate(id, revision.RelationSupersedes, old)
	}
	if w.review != nil && w.review.why == "" {
		w.review.why = ReasonDuplicate
	}
	return w.keepPinned(ctx, id, p, add.Classification.Pinned)
}

// applyUpdate supersedes the target: it stays, marked, and the new truth points back at it.
func (w *writing) applyUpdate(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	target := *p.TargetID
	if parent := w.known[p.ParentID]; memory.States(parent.standing.Type) && bytes.Equal(normalize.Normalize(p.Fact.Content).Hash, parent.neighbor.Hash) {
		// The source says exactly this, and lasts: it is the successor itself.
		if v.Change == memory.ChangeContest {
			return w.contestSource(ctx, p, v)
		}
		successor := commit.NewMemory{ID: p.ParentID}
		if err := w.supersede(ctx, target, p, v, &successor); err != nil {
			return err
		}
		if err := w.supersedeAlso(ctx, p, v, &successor); err != nil {
			return err
		}
		for _, old := range append([]uuid.UUID{target}, replaced(&successor)...) {
			w.Relate(p.ParentID, revision.RelationSupersedes, old)
		}
		if !p.Fact.Claim.IsZero() {
			w.Claim(p.ParentID, p.Fact.Claim)
		}
		w.Hint(p.ParentID, append(p.Fact.AllHints(), successor.Hints...))
		if err := w.keepPinned(ctx, p.ParentID, p, successor.Classification.Pinned); err != nil {
			return err
		}
		w.settle(p, v, &p.ParentID)
		w.counts.Updated++
		return nil
	}
	if v.Change == memory.ChangeContest {
		return w.applyContest(ctx, p, v)
	}
	add := w.factMemory(p, &target)
	settled, err := w.settleConflict(ctx, p, v, &add)
	if err != nil || settled {
		return err
	}
	if err := w.supersede(ctx, target, p, v, &add); err != nil {
		return err
	}
	if err := w.supersedeAlso(ctx, p, v, &add); err != nil {
		return err
	}
	w.adds = append(w.adds, add)
	w.addFor = append(w.addFor, p)
	return nil
}

// applyDelete soft-deletes the target.
func (w *writing) applyDelete(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	target := *p.TargetID
	if v.Change == memory.ChangeRetract {
		return w.applyRetract(ctx, p, v)
	}
	if err := w.retire(ctx, target, p, v, commit.Step{Set: map[string]any{"deleted_at": w.Now}, Event: schema.EventDeleted, Action: schema.AuditDelete,
		Reason: w.because(p)}); err != nil {
		return err
	}
	w.settle(p, v, &target)
	w.counts.Deleted++
	return nil
}

// supersede retires a memory in favour of its successor, which inherits a pin: only a person may
// replace what is pinned, and does not take it off its place by that.
func (w *writing) supersede(ctx context.Context, id uuid.UUID, p *pendingProposal, v proposals.Verdict, successor *commit.NewMemory) error {
	if cl := &successor.Classification; w.known[id].neighbor.Pinned {
		cl.Pinned, cl.Importance, cl.DeletionPolicy = true, 1, memory.DefaultDeletion(cl.Type, true)
	}
	successor.Hints = append(successor.Hints, proposals.SuccessorHint(w.known[id].neighbor)...)
	reason := "superseded: " + p.Proposal.Reason
	if w.review != nil {
		reason = w.review.reason
		w.review.superseded = append(w.review.superseded, id.String())
	}
	return w.retire(ctx, id, p, v, commit.Step{Set: map[string]any{"status": schema.StatusSuperseded, "superseded_by": successor.ID, "superseded_at": w.Now},
		Event: schema.EventModified, Action: schema.AuditRevise, Reason: reason})
}

// retire takes the step by which a memory stops being live. Its row is locked, and was found live in
// the version that the proposal may act on.
func (w *writing) retire(ctx context.Context, id uuid.UUID, p *pendingProposal, v proposals.Verdict, s commit.Step) error {
	was := w.known[id]
	s.Old, s.By, s.Metadata = &was.neighbor.Content, w.actor, w.metadata(p, v)
	version, err := w.Take(ctx, commit.MemoryRow{ID: id, Version: was.version, Live: was.live}, s)
	if err != nil {
		return err
	}
	was.version, was.live = version, false
	w.known[id] = was // the proposals behind this one were decided on other ground
	return nil
}

// keepPinned pins a memory that stood there before it became the successor of a pinned one.
func (w *writing) keepPinned(ctx context.Context, id uuid.UUID, p *pendingProposal, pinned bool) error {
	if !pinned {
		return nil
	}
	rows, err := w.LockRows(ctx, w.batch.Owner, []uuid.UUID{id}) // it is the owner's: others' contents are no duplicates
	if err != nil {
		return err
	}
	m, ok := rows[id]
	if !ok {
		return fmt.Errorf("memory %s: %w", id, pg.ErrNotFound) // unreachable: it is held until commit
	}
	if m.Pinned {
		return nil
	}
	_, err = w.Take(ctx, m, commit.Step{
		Set:     m.Pin(w.Now),
		NowLive: m.Live, Event: schema.EventModified, Action: schema.AuditModify, By: w.actor, Reason: w.because(p), Metadata: w.metadata(p, proposals.Verdict{})})
	return err
}

// because is why a proposal is applied: the reviewer's words, or the decider's.
func (w *writing) because(p *pendingProposal) string {
	if w.review != nil {
		return w.review.reason
	}
	return cmp.Or(p.Proposal.Reason, "no reason was given") // history wants one
}

// settle records what became of a proposal: on its row, and in the history of its source.
func (w *writing) settle(p *pendingProposal, v proposals.Verdict, memoryID *uuid.UUID) {
	if w.review != nil {
		w.settleReview(p, v.State, memoryID)
		return
	}
	w.Queue.Queue(`UPDATE proposals SET state = $3, outcome = $4, contradiction_risk = $5, review_needed = $6, memory_id = $7, written_at = $8,
			embedding = NULL, embedding_model = NULL
		WHERE tenant = $1 AND id = $2`,
		w.Tenant, p.ID, v.State, v.Reason, v.ContradictionRisk, v.ReviewNeeded, memoryID, w.Now)
	switch v.State {
	case schema.ProposalSkipped:
		w.counts.Skipped++
	case schema.ProposalBlocked:
		w.counts.Blocked++
	}
	metadata := w.metadata(p, v)
	p.whichFact(metadata)
	if memoryID != nil {
		metadata["memory_id"] = memoryID.String()
	}
	reason := fmt.Sprintf("%s %s: %s", p.Proposal.Action, v.State, p.Proposal.Reason)
	if v.Reason != "" {
		reason = fmt.Sprintf("%s %s (%s): %s", p.Proposal.Action, v.State, v.Reason, p.Proposal.Reason)
	}
	w.History(commit.HistoryRow{MemoryID: p.ParentID, Event: schema.EventNone, By: w.actor, Reason: reason, Metadata: metadata})
}

// whichFact says in the history of the source which fact a proposal came from: by its place in what was
// extracted, and by the hash that a memory of these words has. The hash goes when the fact's text does.
func (p *pendingProposal) whichFact(metadata map[string]any) {
	metadata["factOrdinal"] = p.Ordinal
	if text := normalize.Normalize(p.Fact.Content); text.Normalized != "" {
		metadata["factHash"] = hex.EncodeToString(text.Hash)
	}
}

// metadata is what document 002 lists for pipeline history, without the fact's text: that stands in
// the proposal, from which an erasure can remove it.
func (w *writing) metadata(p *pendingProposal, v proposals.Verdict) map[string]any {
	m := map[string]any{
		"shadow": w.batch.Policy.Mode == schema.ModeShadow, "proposedAction": p.Proposal.Action, "confidence": p.Proposal.Confidence,
		"factConfidence": p.Fact.Confidence, "category": p.Fact.Category, "proposalId": p.ID, "candidateId": p.CandidateID,
		"batchId": w.batch.ID, "workflowId": w.batch.WorkflowID, "parentId": p.ParentID,
	}
	if p.TargetID != nil {
		m["targetMemoryId"] = p.TargetID.String()
	}
	if v.ContradictionRisk {
		m["contradictionRisk"] = true
	}
	if v.ReviewNeeded {
		m["reviewNeeded"] = true
	}
	if w.review != nil {
		m["reviewed"] = true
	}
	switch v.State {
	case schema.ProposalBlocked:
		m["blockedReason"] = v.Reason
	case schema.ProposalSkipped:
		m["skippedReason"] = v.Reason
	}
	return m
}

// embedSources stores the embeddings of source memories that are still alive.
func (w *writing) embedSources(sources map[uuid.UUID]pg.Embedding) {
	for id, e := range sources {
		// A memory may have been modified since it was read to be embedded.
		if m, ok := w.known[id]; ok && m.live && (e.Hash == nil || bytes.Equal(e.Hash, m.neighbor.Hash)) {
			w.Embed(id, m.tier, m.typology, m.neighbor.Hash, &e)
		}
	}
}

// Unembedded is a source memory of a range without an embedding in a given space.
type Unembedded struct {
	MemoryID uuid.UUID
	Content  string
	Hash     []byte    // of the content
	Vector   []float32 // of a fact with the same content, when one was embedded already
}

// Unembedded lists the live source memories of a range that lack an embedding of the model.
func (s *Pipeline) Unembedded(ctx context.Context, r Range, model inference.EmbeddingModel) ([]Unembedded, error) {
	ctx = pg.Within(ctx, pg.ClassPipeline)
	var out []Unembedded
	err := s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH `+InRange+`, p AS MATERIALIZED (
				SELECT candidate_id, fact->>'content' AS content, embedding FROM proposals
				WHERE tenant = $1 AND candidate_id = ANY(ARRAY(SELECT id FROM c)) AND embedding_model = $5
			), has AS MATERIALIZED (
				SELECT memory_id FROM memory_embeddings WHERE tenant = $1 AND memory_id = ANY(ARRAY(SELECT memory_id FROM c)) AND model = $5
			)
			SELECT m.id, m.content, m.content_hash, (SELECT p.embedding FROM p WHERE p.candidate_id = c.id AND p.content = m.content LIMIT 1)
			FROM c CROSS JOIN `+pg.ByKey("m", "$1", "c.memory_id")+`
			WHERE c.state = 'staged' AND m.live AND m.id <> ALL(ARRAY(SELECT memory_id FROM has))`,
			r.Tenant, r.BatchID, r.From, r.To, model.Name)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Unembedded, error) {
			var u Unembedded
			var v *pgvector.Vector
			err := row.Scan(&u.MemoryID, &u.Content, &u.Hash, &v)
			if v != nil {
				u.Vector = v.Slice()
			}
			return u, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list memories without embedding: %w", err)
	}
	return out, nil
}
