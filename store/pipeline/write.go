package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Actors in history.
const (
	actorPipeline = "pipeline"
	actorShadow   = "pipeline-shadow"
)

// WriteInput is one run of candidates whose proposals are written.
type WriteInput struct {
	Range     schema.Range
	MaxRounds int // decisions after which a proposal that is still stale is blocked for review
	Now       time.Time
	// Sources are embeddings of source memories that have none yet, by memory id.
	Sources map[uuid.UUID]pg.Embedding
	Rules   *policy.Policy // classification rules in force; nil for none
}

// pendingProposal is a proposal as Write reads it.
type pendingProposal struct {
	ID          uuid.UUID
	CandidateID uuid.UUID
	Ordinal     int // of the fact within the candidate
	ParentID    uuid.UUID
	Fact        memory.Fact
	Offered     []offeredRef
	Proposal    memory.Proposal `db:"-"`
	TargetID    *uuid.UUID
	Rounds      int
	Embedding   *pgvector.Vector
	Model       *string `db:"embedding_model"`
	Refs        []schema.Ref
	Session     string
	Speaker     string
	Sensitivity schema.Sensitivity
	OccurredAt  time.Time
	ParentTags  []string
	SourceKind  schema.SourceKind
	Also        []uuid.UUID // memories that say the same as the target
}

// memoryState is a memory's state at commit.
type memoryState struct {
	version  int
	live     bool
	neighbor memory.Neighbor
	tier     schema.Tier
	typology schema.Typology
	trust    float64           // [0,1]
	standing revision.Standing // the input of KeepsItsPlace, without the sources

	scope       string
	visibility  schema.Visibility
	sensitivity schema.Sensitivity
}

// Write evaluates the proposals of a range and commits their changes, under the scope's lock.
//
// Write reads the memories that a proposal is based on again. If one of them has another version or is gone, the
// proposal becomes stale and nothing else happens. If the source was forgotten in the meantime, nothing is written.
// Every evaluated proposal leaves a history row on its source memory. A second Write of a range finds no proposals
// and changes nothing.
func (s *Pipeline) Write(ctx context.Context, in WriteInput) (schema.WriteCounts, error) {
	var counts schema.WriteCounts
	err := pg.RetryChange(ctx, func() error {
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
			w.maxRounds = in.MaxRounds
			if err := w.load(ctx, in); err != nil {
				return err
			}
			for i := range w.proposals {
				if err := w.evaluate(ctx, &w.proposals[i]); err != nil {
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

// writing applies proposals of one batch: those that the pipeline may apply by itself (Write), or one that a person
// has approved (DecideProposal).
type writing struct {
	*commit.Change
	batch        Batch
	actor        string // in history
	rules        *policy.Policy
	review       *reviewing
	proposals    []pendingProposal
	known        map[uuid.UUID]memoryState // sources, and every neighbour that was offered
	adds         []commit.NewMemory
	addFor       []*pendingProposal // the proposal of each add
	added        proposals.Added    // the facts that this change adds or leaves to the next round
	claimed      map[string]claimed // functional claims that this change adds
	deferred     map[string]bool    // functional claims of facts that are to be decided again
	maxRounds    int                // WriteInput.MaxRounds
	restatements []restatement
	counts       schema.WriteCounts
}

func newWriting(c *commit.Change, batch Batch, actor string, rules *policy.Policy) *writing {
	return &writing{Change: c, batch: batch, actor: actor, rules: rules, known: map[uuid.UUID]memoryState{},
		claimed: map[string]claimed{}, deferred: map[string]bool{}}
}

// proposalRow is what proposalColumns fill: a pendingProposal, and the columns of its Proposal.
type proposalRow struct {
	pendingProposal
	Action     schema.Action
	Confidence float64
	Reason     string
	Warnings   []string
	Change     memory.Change
	Own        bool
}

const (
	proposalColumns = `
		p.id, p.candidate_id, p.ordinal, p.fact, p.offered, p.target_id, p.rounds, p.also,
		p.action, p.confidence, p.reason, p.warnings, coalesce(nullif(p.change, 'none'), '') AS change, p.own,
		p.embedding, p.embedding_model,
		c.memory_id AS parent_id, c.tags AS parent_tags,
		c.source_kind, c.refs, c.session, c.speaker, c.sensitivity, c.occurred_at`
	proposalTables = `
		FROM proposals p
			JOIN memory_candidates c ON c.tenant = p.tenant AND c.id = p.candidate_id`
)

// pending returns the proposal from its columns.
func (r proposalRow) pending() pendingProposal {
	p := r.pendingProposal
	p.Proposal = memory.Proposal{Action: r.Action, Confidence: r.Confidence, Reason: r.Reason, Warnings: r.Warnings,
		Change: r.Change, Own: r.Own}
	if p.TargetID != nil {
		p.Proposal.TargetID = p.TargetID.String()
	}
	return p
}

// load reads the proposals of a range and the memories that they are based on.
func (w *writing) load(ctx context.Context, in WriteInput) error {
	found, err := commit.Rows[proposalRow](ctx, w.Tx, `
		WITH `+candidatesInRange+`
		SELECT `+proposalColumns+`
		FROM proposals p
			CROSS JOIN LATERAL (
				SELECT *
				FROM c
				WHERE c.id = p.candidate_id AND c.state = 'staged'
				OFFSET 0) c
		WHERE p.tenant = @tenant
			AND p.batch_id = @batch_id
			AND p.candidate_id = ANY(ARRAY(SELECT id FROM c))
			AND p.state = 'proposed'
		ORDER BY c.ordinal, p.ordinal
		FOR UPDATE OF p`, rangeArgs(in.Range, nil))
	if err != nil {
		return err
	}
	w.proposals = make([]pendingProposal, len(found))
	for i, r := range found {
		w.proposals[i] = r.pending()
	}
	if err := w.lockFacts(ctx); err != nil {
		return err
	}
	ids, targets := make([]uuid.UUID, 0, len(w.proposals)*2+len(in.Sources)), []uuid.UUID(nil)
	for _, p := range w.proposals {
		ids = append(ids, p.ParentID)
		if p.TargetID != nil {
			targets = append(append(targets, *p.TargetID), p.Also...)
		}
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
	if err := w.LockContests(ctx, targets, ids...); err != nil {
		return err
	}
	return w.lockRows(ctx, ids, "SHARE")
}

// lockRows reads the current rows and locks them until commit. A caller that will change them passes "UPDATE", so
// that the lock need not be upgraded.
func (w *writing) lockRows(ctx context.Context, ids []uuid.UUID, lock string) error {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	rows, err := commit.Rows[stateRow](ctx, w.Tx, `
		SELECT id, version, live, content, content_hash, category, pinned, tier, typology, source_trust,
			scope, visibility, sensitivity, who, occurred_at, type, status, confidence, revision_policy,
			validity, conditions, valid_from, valid_until
		FROM memories
		WHERE tenant = @tenant AND id = ANY(@ids)
		ORDER BY id
		FOR `+lock,
		pg.Args{"tenant": w.Tenant, "ids": slices.Compact(ids)})
	for _, r := range rows {
		w.known[r.ID] = r.state()
	}
	return err
}

// stateRow is a row of lockRows.
type stateRow struct {
	ID             uuid.UUID
	Version        int
	Live           bool
	Content        string
	ContentHash    []byte
	Category       schema.Category
	Pinned         bool
	Tier           schema.Tier
	Typology       schema.Typology
	SourceTrust    float64
	Scope          string
	Visibility     schema.Visibility
	Sensitivity    schema.Sensitivity
	Who            string
	OccurredAt     time.Time
	Type           schema.MemoryType
	Status         schema.Status
	Confidence     float64
	RevisionPolicy schema.RevisionPolicy
	Validity       schema.ValidityMode
	Conditions     json.RawMessage
	ValidFrom      *time.Time
	ValidUntil     *time.Time
}

func (r stateRow) state() memoryState {
	return memoryState{
		version: r.Version, live: r.Live, tier: r.Tier, typology: r.Typology, trust: r.SourceTrust,
		scope: r.Scope, visibility: r.Visibility, sensitivity: r.Sensitivity,
		neighbor: memory.Neighbor{ID: r.ID.String(), Version: r.Version, Content: r.Content, Hash: r.ContentHash,
			Category: r.Category, Pinned: r.Pinned, Type: r.Type, Status: r.Status, Who: r.Who,
			OccurredAt: r.OccurredAt},
		standing: revision.Standing{Type: r.Type, Status: r.Status, Confidence: r.Confidence,
			SourceTrust: r.SourceTrust, Policy: r.RevisionPolicy,
			Validity: schema.Validity{Mode: r.Validity, Conditions: r.Conditions, Start: r.ValidFrom,
				End: r.ValidUntil}},
	}
}

// evaluate settles one proposal, or leaves it to insertAdds.
func (w *writing) evaluate(ctx context.Context, p *pendingProposal) error {
	shadow := w.batch.Policy.Mode == schema.ModeShadow
	parent, stored := w.known[p.ParentID]
	if !shadow && (!stored || !parent.live) {
		w.settle(p, proposals.Verdict{State: schema.ProposalSkipped, Reason: proposals.ReasonParentForgotten}, nil)
		return nil
	}
	if p.Rounds < w.maxRounds && w.changesAdded(p) {
		w.decideAgain(p)
		return nil
	}
	if w.stale(p) {
		if p.Rounds < w.maxRounds {
			w.decideAgain(p)
			return nil
		}
		w.settle(p, proposals.Verdict{State: schema.ProposalBlocked, Reason: proposals.ReasonCandidatesChanged,
			ReviewNeeded: true}, nil)
		return nil
	}
	var target *memory.Neighbor
	if p.TargetID != nil {
		n := w.known[*p.TargetID].neighbor
		kept, err := w.kept(ctx, p, []uuid.UUID{*p.TargetID})
		if err != nil {
			return err
		}
		n.Kept = len(kept) > 0
		target = &n
	}
	verdict := proposals.EvaluateWrite(w.batch.Policy, p.Fact, p.Proposal, target)
	if verdict.State != schema.ProposalApplied {
		known := p.TargetID
		if known == nil && verdict.Reason == proposals.ReasonAlreadyKnown {
			known = &p.ParentID
		}
		if verdict.Reason == proposals.ReasonAlreadyKnown && stored && *known == p.ParentID && !p.Fact.Claim.IsZero() {
			w.Claim(p.ParentID, p.Fact.Claim) // the source itself makes the claim
			w.Hint(p.ParentID, p.Fact.AllHints())
		}
		if verdict.Reason == proposals.ReasonAlreadyKnown {
			w.noteRestatement(p, *known)
		}
		w.settle(p, verdict, known)
		return nil
	}
	return w.apply(ctx, p, verdict)
}

// kept returns those of some memories that an update or a delete because of the fact may not replace.
func (w *writing) kept(ctx context.Context, p *pendingProposal, ids []uuid.UUID) ([]uuid.UUID, error) {
	ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool {
		return !proposals.MayKeep(p.Proposal, w.known[id].standing.Type)
	})
	if len(ids) == 0 {
		return nil, nil
	}
	sources, err := w.CountSources(ctx, ids)
	if err != nil {
		return nil, err
	}
	add := w.factMemory(p, nil)
	fact := add.Standing()
	fact.Sources = len(p.Refs) + 1 // the references of its source, plus the source itself
	return slices.DeleteFunc(ids, func(id uuid.UUID) bool {
		target := w.known[id].standing
		target.Sources = sources[id]
		return !proposals.KeepsTarget(p.Proposal, target, fact)
	}), nil
}

// apply carries out a proposal. Inserts are left to insertAdds.
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

// reasonFor returns the reason for applying a proposal: the reviewer's, or the decider's.
func (w *writing) reasonFor(p *pendingProposal) string {
	if w.review != nil {
		return w.review.reason
	}
	return cmp.Or(p.Proposal.Reason, "no reason was given") // history requires a reason
}

// settleSQL sets the outcomes of proposals. It finds them by id and the position of each in the arrays, because
// without statistics on the tenant a join would read all proposals of the tenant.
var settleSQL = commit.NewBulk(`tenant text, id uuid, state text, outcome text, contradiction_risk boolean,
	review_needed boolean, memory_id uuid, now timestamptz`, `
	UPDATE proposals
	SET state = (@state::text[])[array_position(@id::uuid[], id)],
		outcome = (@outcome::text[])[array_position(@id::uuid[], id)],
		contradiction_risk = (@contradiction_risk::boolean[])[array_position(@id::uuid[], id)],
		review_needed = (@review_needed::boolean[])[array_position(@id::uuid[], id)],
		memory_id = (@memory_id::uuid[])[array_position(@id::uuid[], id)],
		written_at = (@now::timestamptz[])[1],
		embedding = NULL,
		embedding_model = NULL
	WHERE tenant = (@tenant::text[])[1] AND id = ANY(@id::uuid[])`, "id")

// settle records the outcome of a proposal, on its row and in the history of its source.
func (w *writing) settle(p *pendingProposal, v proposals.Verdict, memoryID *uuid.UUID) {
	if w.review != nil {
		w.settleReview(p, v.State, memoryID)
		return
	}
	w.Add(settleSQL,
		pg.Args{
			"tenant":             w.Tenant,
			"id":                 p.ID,
			"state":              v.State,
			"outcome":            v.Reason,
			"contradiction_risk": v.ContradictionRisk,
			"review_needed":      v.ReviewNeeded,
			"memory_id":          memoryID,
			"now":                w.Now,
		})
	switch v.State {
	case schema.ProposalSkipped:
		w.counts.Skipped++
	case schema.ProposalBlocked:
		w.counts.Blocked++
	}
	metadata := w.metadata(p, v)
	p.whichFact(metadata)
	if memoryID != nil {
		metadata[memory.HistoryWritten] = memoryID.String()
	}
	reason := fmt.Sprintf("%s %s: %s", p.Proposal.Action, v.State, p.Proposal.Reason)
	if v.Reason != "" {
		reason = fmt.Sprintf("%s %s (%s): %s", p.Proposal.Action, v.State, v.Reason, p.Proposal.Reason)
	}
	w.History(commit.HistoryRow{MemoryID: p.ParentID, Event: schema.EventNone, By: w.actor, Reason: reason,
		Metadata: metadata})
}

// whichFact adds to a history row's metadata which fact a proposal came from: its position in the extraction and
// the content hash of its text. The hash is removed together with the text.
func (p *pendingProposal) whichFact(metadata map[string]any) {
	metadata["factOrdinal"] = p.Ordinal
	if text := normalize.Normalize(p.Fact.Content); text.Normalized != "" {
		metadata["factHash"] = hex.EncodeToString(text.Hash)
	}
}

// metadata returns the metadata of document 002 for pipeline history, without the fact's text. Only the proposal
// holds the text, so that an erasure can remove it.
func (w *writing) metadata(p *pendingProposal, v proposals.Verdict) map[string]any {
	m := map[string]any{
		"shadow": w.batch.Policy.Mode == schema.ModeShadow, "proposedAction": p.Proposal.Action,
		"confidence":     p.Proposal.Confidence,
		"factConfidence": p.Fact.Confidence, "category": p.Fact.Category, "proposalId": p.ID,
		"candidateId": p.CandidateID,
		"batchId":     w.batch.ID, "workflowId": w.batch.WorkflowID, memory.HistorySource: p.ParentID,
	}
	if p.TargetID != nil {
		m[memory.HistoryTarget] = p.TargetID.String()
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
