package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// lockFacts locks the functional claims of the proposals, in the claim space where each fact would be stored. The
// scope's lock is not enough: writers from another project may make the same claim.
func (w *writing) lockFacts(ctx context.Context) error {
	var facts []*pendingProposal
	var parents []uuid.UUID
	for i := range w.proposals {
		if p := &w.proposals[i]; p.Fact.Claim.Functional && !p.Fact.Claim.IsZero() {
			facts, parents = append(facts, p), append(parents, p.ParentID)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	sources, err := commit.Rows[struct {
		ID         uuid.UUID
		Scope      string
		Visibility schema.Visibility
	}](ctx, w.Tx, `
		SELECT id, scope, visibility
		FROM memories
		WHERE tenant = @tenant AND id = ANY(@ids)`,
		pg.Args{"tenant": w.Tenant, "ids": parents})
	if err != nil {
		return err
	}
	for _, m := range sources {
		w.known[m.ID] = memoryState{scope: m.Scope, visibility: m.Visibility}
	}
	claims := make([]commit.ClaimOf, len(facts))
	for i, p := range facts {
		owner, visibility := w.batch.Owner, w.batch.Visibility
		if source, stored := w.known[p.ParentID]; stored {
			owner.Scope, visibility = source.scope, source.visibility
		}
		if w.rules != nil { // rules may give a fact another scope than its source
			add := w.factMemory(p, nil)
			owner, visibility = add.Owner, add.Visibility
		}
		claims[i] = commit.ClaimOf{Owner: owner, Visibility: visibility, Subject: p.Fact.Claim.Subject,
			Predicate: p.Fact.Claim.Predicate}
	}
	clear(w.known) // lockRows reads them again under the lock
	return w.LockClaims(ctx, claims)
}

// settleConflict settles a proposal if another memory makes its functional claim, and reports whether it did. An
// update may replace the memory that it names, and those that say the same as that one (also). A proposal approved by a
// person may replace every memory that makes the claim. A fact with the same object as all that remain says more about
// it: it is added without making the claim. If an earlier fact with the claim is to be decided again, this one is, too.
func (w *writing) settleConflict(ctx context.Context, p *pendingProposal, v proposals.Verdict,
	add *commit.NewMemory, also []uuid.UUID) (bool, error) {
	cl := p.Fact.Claim
	if !cl.Functional || cl.IsZero() {
		return false, nil
	}
	if add.Supersedes == nil && w.deferred[claimName(cl)] && p.Rounds < w.maxRounds {
		w.decideAgain(p)
		return true, nil
	}
	blocked := proposals.Verdict{State: schema.ProposalBlocked, Reason: proposals.ReasonActiveFactExists,
		ReviewNeeded: true, ContradictionRisk: true}
	space := add.Owner.Scope + "\x00" + string(add.Visibility)
	key, hash := space+"\x00"+strings.ToLower(cl.Subject)+"\x00"+cl.Predicate, normalize.Normalize(p.Fact.Content).Hash
	if earlier, ok := w.claimed[key]; ok {
		if memory.SameContent(earlier.hash, hash) {
			return false, nil // the insert will find its duplicate
		}
		if add.Supersedes == nil && p.Rounds < w.maxRounds &&
			(sameObject(earlier.object, cl.Object) || withWordsOf(earlier.object, cl.Object)) {
			w.decideAgain(p) // then it says more about a stored memory, or replaces a less exact value
			return true, nil
		}
		w.settle(p, blocked, nil)
		return true, nil
	}
	holders, err := w.factHolders(ctx, cl, add.Owner, add.Visibility)
	if err != nil {
		return false, err
	}
	replaces := add.Supersedes
	if replaces != nil {
		holders = slices.DeleteFunc(holders, func(h claimHolder) bool {
			return h.ID == *replaces || slices.Contains(also, h.ID)
		})
	}
	if len(holders) == 0 {
		w.claimed[key] = claimed{hash, cl.Object}
		return false, nil
	}
	says := func(h claimHolder) bool { return memory.SameContent(h.Hash, hash) }
	holder := holders[0]
	if i := slices.IndexFunc(holders, says); i >= 0 {
		holder = holders[i]
	}
	same := says(holder)
	switch {
	case same && holder.Ours:
		return false, nil // the insert will find its duplicate
	case w.review != nil:
		for _, h := range holders {
			if err := w.replaceHolder(ctx, p, v, h.ID, add); err != nil {
				return false, err
			}
		}
		return false, nil
	case same && replaces == nil:
		w.noteRestatement(p, holder.ID)
		w.settle(p, proposals.Verdict{State: schema.ProposalSkipped, Reason: proposals.ReasonDuplicate}, &holder.ID)
	case !slices.ContainsFunc(holders, func(h claimHolder) bool {
		return !sameObject(h.Object, cl.Object)
	}):
		w.addDetail(p, add, holders)
		return false, nil
	default:
		w.settle(p, blocked, &holder.ID)
	}
	return true, nil
}

// claimName identifies a functional claim within a batch, whose facts have one owner.
func claimName(cl memory.Claim) string { return strings.ToLower(cl.Subject) + "\x00" + cl.Predicate }

// claimed is a functional claim that this change adds.
type claimed struct {
	hash   []byte // of the memory's content
	object string
}

// sameObject reports whether two objects are equal, in any case.
func sameObject(a, b string) bool { return revision.SameObject(strings.ToLower(a), strings.ToLower(b)) }

// withWordsOf reports whether an object has all words of another one: "dark green" has those of "green".
func withWordsOf(other, object string) bool {
	words := strings.Fields(strings.ToLower(object))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(other)), func(w string) bool {
		return !slices.Contains(words, w)
	})
}

// addDetail makes a new memory that does not make the functional claim of its fact, because the holders make it. It is
// linked only to those that the owner may change.
func (w *writing) addDetail(p *pendingProposal, add *commit.NewMemory, holders []claimHolder) {
	p.Fact.Claim.Functional = false
	*add = w.factMemory(p, add.Supersedes)
	for _, h := range holders {
		if !h.Ours {
			continue
		}
		add.Relations = append(add.Relations, commit.Relation{Predicate: proposals.RelationDetails, Target: h.ID,
			Weight: 1, Reason: "says more about the same value"})
	}
}

// details returns the memories that say more about the value of the target and of the memories that say the same, or
// that these say more about. They belong to the batch's owner and are in the scope of the target, which may differ from
// that of the request. A retraction takes back only what says more than the target: it is not true that Ana lives in
// Porto near the river, but she may live in Porto.
func (w *writing) details(ctx context.Context, p *pendingProposal) ([]uuid.UUID, error) {
	ids, retracts := []uuid.UUID{*p.TargetID}, p.Proposal.Change == memory.ChangeRetract
	if !retracts {
		ids = append(ids, p.Also...)
	}
	rows, err := commit.Rows[struct{ ID uuid.UUID }](ctx, w.Tx, `
		WITH held AS MATERIALIZED (
			SELECT target_id AS id
			FROM memory_links
			WHERE tenant = @tenant AND source_id = ANY(@ids) AND predicate = @details AND NOT @retracts
		), found AS MATERIALIZED (
			SELECT id
			FROM held
			UNION
			SELECT source_id
			FROM memory_links
			WHERE tenant = @tenant
				AND target_id = ANY(ARRAY(SELECT id FROM held) || @ids::uuid[])
				AND predicate = @details
		)
		SELECT id
		FROM memories
		WHERE tenant = @tenant
			AND id = ANY(ARRAY(SELECT id FROM found))
			AND agent_id = @agent
			AND project = @project
			AND scope = @scope
		ORDER BY id`,
		pg.Args{
			"tenant":   w.Tenant,
			"ids":      ids,
			"details":  proposals.RelationDetails,
			"retracts": retracts,
			"agent":    w.batch.Owner.Agent,
			"project":  w.batch.Owner.Project,
			"scope":    w.known[*p.TargetID].scope,
		})
	out := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		out[i] = row.ID
	}
	return out, err
}

// replaceHolder supersedes a memory that makes the claim of an approved fact.
func (w *writing) replaceHolder(ctx context.Context, p *pendingProposal, v proposals.Verdict, holder uuid.UUID,
	add *commit.NewMemory) error {
	if err := w.lockRows(ctx, []uuid.UUID{holder}, "UPDATE"); err != nil {
		return err
	}
	if !w.known[holder].live {
		return nil // it has been removed since
	}
	if err := w.supersede(ctx, holder, p, v, add); err != nil {
		return err
	}
	if add.Supersedes == nil {
		add.Supersedes = &holder
	} else {
		add.Relations = append(add.Relations, commit.Relation{Predicate: revision.RelationSupersedes, Target: holder,
			Weight: 1, Reason: proposals.ReasonActiveFactExists})
	}
	w.review.why = fmt.Sprintf("it also replaces %s, which made the claim", holder)
	return nil
}

// claimHolder is an active or contested memory that makes a functional claim.
type claimHolder struct {
	ID     uuid.UUID
	Hash   []byte `db:"content_hash"`
	Object string // of its claim
	Ours   bool   // within the dedup scope of the new memory
}

// factHolders returns the memories that make a functional claim anywhere in the claim space of an owner and a
// visibility: the active one, and those that contest it. They are locked until commit, so that an erasure of one of
// them finds new references to it.
func (w *writing) factHolders(ctx context.Context, cl memory.Claim, o schema.Principal,
	v schema.Visibility) ([]claimHolder, error) {
	var out []claimHolder
	for _, status := range []string{"active", "contested"} { // in the text of the query: each has its own index
		found, err := commit.Rows[claimHolder](ctx, w.Tx, `
			SELECT id, content_hash, coalesce(object #>> '{}', '') AS object,
				agent_id = @agent AND project = @project AND visibility = @visibility AS ours
			FROM memories
			WHERE tenant = @tenant
				AND scope = @scope
				AND claim_key = mneme_claim_key(@subject, @predicate)
				AND claim_space = @claim_space
				AND conditions_hash = ''
				AND type = 'semantic'
				AND functional
				AND live
				AND deleted_at IS NULL
				AND status = '`+status+`'
			ORDER BY id
			FOR SHARE`,
			pg.Args{
				"tenant":      w.Tenant,
				"scope":       o.Scope,
				"subject":     cl.Subject,
				"predicate":   cl.Predicate,
				"claim_space": commit.ClaimSpace(o, v),
				"agent":       o.Agent,
				"project":     o.Project,
				"visibility":  v,
			})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
