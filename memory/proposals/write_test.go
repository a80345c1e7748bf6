package proposals_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

func TestNarrow(t *testing.T) {
	t.Parallel()
	ptr := func(f float64) *float64 { return &f }
	open := proposals.WritePolicy{Mode: schema.ModeControlled, AllowUpdateDelete: true, MinFactConfidence: 0.7}
	frozen := proposals.WritePolicy{Mode: schema.ModeFrozen, MinFactConfidence: 0.7}
	for name, tt := range map[string]struct {
		worker         proposals.WritePolicy
		mode           schema.WriteMode
		noUpdateDelete bool
		min            *float64
		want           proposals.WritePolicy
	}{
		"empty request": {open, "", false, nil, open},
		"everything narrowed": {open, schema.ModeShadow, true, ptr(0.9),
			proposals.WritePolicy{Mode: schema.ModeShadow, Supersede: proposals.SupersedeReview,
				MinFactConfidence: 0.9}},
		"looser mode":      {frozen, schema.ModeControlled, false, nil, frozen},
		"lower confidence": {open, "", false, ptr(0.1), open},
		"confidence NaN":   {open, "", false, ptr(math.NaN()), open},
		"unknown mode":     {open, "yolo", false, nil, open},
		"zero worker policy": {proposals.WritePolicy{}, schema.ModeControlled, false, nil,
			proposals.WritePolicy{Mode: schema.ModeShadow}},
		"documented defaults": {proposals.DefaultWritePolicy(), "", false, nil,
			proposals.WritePolicy{Mode: schema.ModeControlled, Supersede: proposals.SupersedeAuto,
				MinFactConfidence: 0.7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.worker.Narrow(tt.mode, tt.noUpdateDelete, tt.min))
		})
	}
}

func TestEvaluateWrite(t *testing.T) {
	t.Parallel()
	defaults := proposals.DefaultWritePolicy()
	open := proposals.WritePolicy{Mode: schema.ModeControlled, AllowUpdateDelete: true, MinFactConfidence: 0.7}
	shadow := proposals.WritePolicy{Mode: schema.ModeShadow, AllowUpdateDelete: true, MinFactConfidence: 0.7}
	frozen := proposals.WritePolicy{Mode: schema.ModeFrozen, AllowUpdateDelete: true, MinFactConfidence: 0.7}

	good := memorytest.Fact("User prefers green tea")
	opposite := memorytest.Fact("User never prefers tea")
	unsure := memory.Fact{Content: good.Content, Confidence: 0.69}
	retracting := memory.Fact{Content: good.Content, Confidence: 0.9, Retracts: true}
	noNumber := memory.Fact{Content: good.Content, Confidence: math.NaN()}
	empty := memorytest.Fact("..........")

	target := &memory.Neighbor{ID: "m1", Content: "User prefers tea"}
	pinned := &memory.Neighbor{ID: "m1", Content: "User prefers tea", Pinned: true}
	kept := &memory.Neighbor{ID: "m1", Content: "User prefers tea", Kept: true}
	add := memory.Proposal{Action: schema.ActionAdd}
	none := memory.Proposal{Action: schema.ActionNone, Reason: "covered by m1"}
	update := memory.Proposal{Action: schema.ActionUpdate, TargetID: "m1"}
	remove := memory.Proposal{Action: schema.ActionDelete, TargetID: "m1"}

	applied := proposals.Verdict{State: schema.ProposalApplied}
	skipped := func(reason string) proposals.Verdict {
		return proposals.Verdict{State: schema.ProposalSkipped, Reason: reason}
	}
	blocked := func(reason string, risk, review bool) proposals.Verdict {
		return proposals.Verdict{State: schema.ProposalBlocked, Reason: reason, ContradictionRisk: risk,
			ReviewNeeded: review}
	}
	for name, tt := range map[string]struct {
		policy   proposals.WritePolicy
		fact     memory.Fact
		proposal memory.Proposal
		target   *memory.Neighbor
		want     proposals.Verdict
	}{
		"add": {defaults, good, add, nil, applied},
		"at the minimum confidence": {defaults, memory.Fact{Content: good.Content, Confidence: 0.7}, add, nil,
			applied},
		"below the minimum confidence": {defaults, unsure, add, nil, skipped("low_fact_confidence")},
		"confidence not a number": {proposals.WritePolicy{Mode: schema.ModeControlled}, noNumber, add, nil,
			skipped("low_fact_confidence")},
		"only punctuation":            {defaults, empty, add, nil, skipped("empty_fact_content")},
		"retraction of nothing":       {open, retracting, add, nil, skipped("retraction_without_target")},
		"retraction of what is known": {open, retracting, none, nil, skipped("retraction_without_target")},
		"retraction, undecided": {open, retracting,
			memory.Proposal{Action: schema.ActionNone, Reason: proposals.ReasonUndecided}, nil, skipped("undecided")},
		"retraction with a target":  {open, retracting, remove, target, applied},
		"retraction in shadow mode": {shadow, retracting, add, nil, skipped("retraction_without_target")},
		"known":                     {defaults, good, none, nil, skipped("already_known")},
		"rejected decision": {defaults, good, intake.CheckProposal(update, nil), nil,
			skipped("unknown_target_id")},
		"undecided": {defaults, good,
			memory.Proposal{Action: schema.ActionNone, Reason: proposals.ReasonUndecided}, nil, skipped("undecided")},
		"unknown action": {defaults, good, memory.Proposal{Action: "merge"}, nil,
			skipped("invalid_action")},
		"update without target": {open, good, memory.Proposal{Action: schema.ActionUpdate}, target,
			skipped("missing_target_id")},
		"update of something else": {open, good, memory.Proposal{Action: schema.ActionUpdate, TargetID: "m2"},
			target, skipped("unknown_target_id")},
		"update of nothing": {open, good, update, nil, skipped("unknown_target_id")},
		"update, default policy": {defaults, good, update, target,
			blocked("destructive_mutations_disabled", false, false)},
		"delete, default policy": {defaults, good, remove, target,
			blocked("destructive_mutations_disabled", false, false)},
		"contradiction, default": {defaults, opposite, update, target,
			blocked("destructive_mutations_disabled", true, true)},
		"update, allowed":          {open, good, update, target, applied},
		"delete, allowed":          {open, good, remove, target, applied},
		"contradiction, allowed":   {open, opposite, remove, target, blocked("semantic_contradiction", true, true)},
		"pinned":                   {open, good, update, pinned, blocked("pinned_target", false, true)},
		"pinned, default policy":   {defaults, opposite, remove, pinned, blocked("pinned_target", true, true)},
		"keeps its place":          {open, good, update, kept, blocked("revision_policy", false, true)},
		"keeps its place, deleted": {open, good, remove, kept, blocked("revision_policy", false, true)},
		"keeps its place, default": {defaults, good, update, kept,
			blocked("destructive_mutations_disabled", false, true)},
		"keeps its place, shadow":   {shadow, good, update, kept, blocked("revision_policy", false, true)},
		"contradiction comes first": {open, opposite, update, kept, blocked("semantic_contradiction", true, true)},
		"shadow add":                {shadow, good, add, nil, blocked("shadow_mode", false, false)},
		"shadow update":             {shadow, good, update, target, blocked("shadow_mode", false, false)},
		"shadow, would be skipped":  {shadow, unsure, add, nil, skipped("low_fact_confidence")},
		"shadow, would be blocked": {shadow, opposite, update, target,
			blocked("semantic_contradiction", true, true)},
		"frozen":                    {frozen, good, add, nil, blocked("mutations_frozen", false, false)},
		"policy that was never set": {proposals.WritePolicy{}, good, add, nil, blocked("shadow_mode", false, false)},
		"skip reasons come first":   {frozen, unsure, update, pinned, skipped("low_fact_confidence")},
		"confidence before content": {defaults, memory.Fact{Content: "...", Confidence: 0.1}, add, nil,
			skipped("low_fact_confidence")},
		"content before the decision": {defaults, empty, none, nil, skipped("empty_fact_content")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, proposals.EvaluateWrite(tt.policy, tt.fact, tt.proposal, tt.target))
		})
	}
}

func TestEvaluateWriteProperties(t *testing.T) {
	t.Parallel()
	modes := rapid.SampledFrom([]schema.WriteMode{schema.ModeShadow, schema.ModeFrozen, schema.ModeControlled, "",
		"odd"})
	rapid.Check(t, func(t *rapid.T) {
		policy := proposals.WritePolicy{Mode: modes.Draw(t, "mode"), AllowUpdateDelete: rapid.Bool().Draw(t, "allow"),
			MinFactConfidence: rapid.Float64Range(0, 1).Draw(t, "min")}
		f := memory.Fact{
			Content: rapid.OneOf(memorytest.AnyText(), rapid.Just("User prefers tea"),
				rapid.Just("User never prefers tea")).Draw(t, "content"),
			Confidence: rapid.Float64Range(0, 1).Draw(t, "confidence"),
			Retracts:   rapid.Bool().Draw(t, "retracts"),
		}
		target := &memory.Neighbor{ID: "m1", Content: "User prefers tea", Pinned: rapid.Bool().Draw(t, "pinned"),
			Kept: rapid.Bool().Draw(t, "kept")}
		p := memory.Proposal{
			Action: schema.Action(rapid.SampledFrom([]string{"add", "update", "delete", "none",
				"odd"}).Draw(t, "action")),
			TargetID: rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(t, "target"),
		}
		if rapid.Bool().Draw(t, "gone") {
			target = nil
		}
		got := proposals.EvaluateWrite(policy, f, p, target)
		require.Equal(t, got.State == schema.ProposalApplied, got.Reason == "", "a reason if and only if not applied")
		if got.State == schema.ProposalApplied {
			require.Equal(t, schema.ModeControlled, policy.Mode)
			require.GreaterOrEqual(t, f.Confidence, policy.MinFactConfidence)
			require.False(t, got.ReviewNeeded)
			require.False(t, f.Retracts && p.Action == schema.ActionAdd, "a retraction is never added")
			if p.Action != schema.ActionAdd {
				require.True(t, policy.AllowUpdateDelete && !target.Pinned && !target.Kept && target.ID == p.TargetID)
			}
		}

		// A request never gets more than the worker allows.
		minimum := rapid.Float64().Draw(t, "requested min")
		narrowed := policy.Narrow(modes.Draw(t, "requested mode"), rapid.Bool().Draw(t, "no update"), &minimum)
		require.GreaterOrEqual(t, narrowed.MinFactConfidence, policy.MinFactConfidence)
		if proposals.EvaluateWrite(narrowed, f, p, target).State == schema.ProposalApplied {
			require.Equal(t, schema.ProposalApplied, got.State)
		}
	})
}
