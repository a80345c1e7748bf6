package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Actions of deltas, as memory/learning/competence and memory/learning/plan name them.
const (
	Add       = "add"
	Update    = "update"
	Supersede = "supersede"
)

// Delta is one decided change.
type Delta struct {
	Action     string             `json:"action"`
	Target     string             `json:"target,omitempty"`
	IfVersion  int                `json:"if_version,omitempty"` // of the target
	Key        string             `json:"key"`
	Words      []string           `json:"words,omitempty"`
	Payload    json.RawMessage    `json:"payload"`
	Confidence float64            `json:"confidence"`
	Stats      evidence.Stats     `json:"stats"`
	Outcomes   []evidence.Outcome `json:"outcomes,omitempty"` // in the evidence
	Agents     []string           `json:"agents,omitempty"`
	Evidence   []string           `json:"evidence,omitempty"`
	Others     []string           `json:"others,omitempty"` // other episodes whose words the payload may repeat
	Helped     []string           `json:"helped,omitempty"` // episodes whose reports are about this solution
	// Known lists the records of the group that the decision knew; nil in drafts of earlier program versions. Another run
	// may have written one since, and the delta would add it again.
	Known       []string           `json:"known"`
	Hash        string             `json:"hash"`
	Sensitivity schema.Sensitivity `json:"sensitivity,omitempty"`
	Why         string             `json:"why,omitempty"`

	widened bool // the same procedure for more agents: a new record takes over the reports of its target
}

// Draft is a decision on a group.
type Draft struct {
	Group    uuid.UUID
	Kind     schema.MemoryType
	Attempts int64 // of the group when its attempts were read
	Deltas   []Delta
}

// SaveDraft stores a decision until it is written. A draft without deltas closes the group. If an episode of the
// draft has been removed since it was read, SaveDraft stores nothing and returns false.
func (s *Learning) SaveDraft(ctx context.Context, sc Scope, d Draft, now time.Time) (kept bool, err error) {
	deltas, err := json.Marshal(d.Deltas)
	if err != nil {
		return false, fmt.Errorf("draft: %w", err)
	}
	var named []string
	for _, one := range d.Deltas {
		named = append(named, one.episodes()...)
	}
	memories, err := parsed(named)
	if err != nil {
		return false, err
	}
	err = commit.Write(ctx, s.DB, sc.Tenant, now, func(c *commit.Change) error {
		if len(d.Deltas) == 0 {
			kept = true
			return closeGroup(ctx, c, d.Group, d.Kind, d.Attempts)
		}
		there, err := hold(ctx, c, memories)
		if kept = err == nil && len(there) == len(memories); !kept {
			return err
		}
		_, err = c.Tx.Exec(ctx, `
			INSERT INTO learning_drafts AS d (tenant, group_id, kind, attempts, deltas, memories, created_at)
			VALUES (@tenant, @group, @kind, @attempts, @deltas, @memories, @now)
			ON CONFLICT (tenant, group_id, kind) DO UPDATE
			SET attempts = excluded.attempts, deltas = excluded.deltas, memories = excluded.memories,
				created_at = excluded.created_at`,
			pg.Args{"tenant": c.Tenant, "group": d.Group, "kind": d.Kind, "attempts": d.Attempts,
				"deltas":   string(deltas),
				"memories": memories, "now": c.Now})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("save draft: %w", err)
	}
	return kept, nil
}

// episodes returns the episodes that a delta repeats: its evidence and the others.
func (d Delta) episodes() []string { return slices.Concat(d.Evidence, d.Others) }

// parsed returns ids in order and without duplicates.
func parsed(named []string) ([]uuid.UUID, error) {
	out := make([]uuid.UUID, 0, len(named))
	for _, name := range named {
		id, err := uuid.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("evidence: %w", err)
		}
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(out), nil
}
