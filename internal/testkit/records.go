package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/schema"
)

// MemoryTypes are the five types, for tests that go through all of them.
var MemoryTypes = []schema.MemoryType{schema.TypeEpisodic, schema.TypeWorking, schema.TypeSemantic,
	schema.TypeCompetence, schema.TypePlanGraph}

// RecordGen generates valid, complete records of a type. Ids are UUIDs, times are in UTC with
// microseconds, as Postgres stores them, and payloads are in the form that decoding returns: members in order
// and numbers as jsonb writes them. Relations, supersedes and superseded_by are empty, because they would name
// records that do not exist. The audit log is empty too; see WithAudit.
func RecordGen(t schema.MemoryType) *rapid.Generator[schema.MemoryRecord] {
	return rapid.Custom(func(r *rapid.T) schema.MemoryRecord { return record(r, t) })
}

// WithAudit adds the fields of exported records: an audit log, relations and a place in a chain of revisions.
func WithAudit(g *rapid.Generator[schema.MemoryRecord]) *rapid.Generator[schema.MemoryRecord] {
	return rapid.Custom(func(r *rapid.T) schema.MemoryRecord {
		m := g.Draw(r, "record")
		for range rapid.IntRange(1, 3).Draw(r, "audit") {
			m.AuditLog = append(m.AuditLog, schema.AuditEntry{
				Action: rapid.SampledFrom([]schema.AuditAction{schema.AuditCreate, schema.AuditRevise,
					schema.AuditFork, schema.AuditMerge, schema.AuditDelete,
					schema.AuditRecover, schema.AuditContest, schema.AuditResolve, schema.AuditRetract,
					schema.AuditModify, schema.AuditErase,
					schema.AuditArchive, schema.AuditKeep, schema.AuditPurge, schema.AuditReinforce,
					schema.AuditPenalise}).Draw(r,
					"action"),
				Actor: word(r, "actor"), Timestamp: at(r, "timestamp"), Rationale: text(r, "rationale"),
			})
		}
		for i := range rapid.IntRange(0, 2).Draw(r, "relations") {
			m.Relations = append(m.Relations, schema.Relation{Predicate: fmt.Sprintf("%s_%d",
				rapid.SampledFrom([]string{"supports", "contradicts", "derived_from"}).Draw(r, "predicate"), i),
				TargetID: id(r), Weight: share(r, "weight"), Reason: text(r, "reason")})
		}
		if rapid.Bool().Draw(r, "supersedes") {
			m.Supersedes = id(r)
		}
		if rapid.Bool().Draw(r, "superseded") {
			m.SupersededBy, m.Status, m.SupersededAt = id(r), schema.StatusSuperseded, when(r, "superseded at")
		}
		return m
	})
}

func record(r *rapid.T, t schema.MemoryType) schema.MemoryRecord {
	tier, typology := schema.TierPersistent, schema.TypologySemantic
	switch t {
	case schema.TypeEpisodic:
		tier, typology = schema.TierSession, schema.TypologyEpisodic
	case schema.TypeWorking:
		tier, typology = schema.TierInteraction, schema.TypologyEpisodic
	case schema.TypeCompetence, schema.TypePlanGraph:
		typology = schema.TypologyProcedural
	}
	m := schema.MemoryRecord{
		ID: id(r), Type: t, Tier: tier, Typology: typology,
		Sensitivity: rapid.SampledFrom([]schema.Sensitivity{schema.SensitivityPublic, schema.SensitivityLow,
			schema.SensitivityMedium, schema.SensitivityHigh, schema.SensitivityHyper}).Draw(r, "sensitivity"),
		Confidence: share(r, "confidence"), Salience: share(r, "salience"), Importance: share(r, "importance"),
		SourceTrust: share(r, "trust"),
		Scope:       maybe(r, "scope", word), Tags: rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,8}`),
			0, 3, rapid.ID[string]).Draw(r, "tags"),
		CreatedAt: at(r, "created"), UpdatedAt: at(r, "updated"), SalienceAt: at(r, "salience at"),
		OccurredAt: at(r, "occurred"),
		Lifecycle: schema.Lifecycle{LastReinforcedAt: at(r, "reinforced"), Pinned: rapid.Bool().Draw(r, "pinned"),
			DeletionPolicy: rapid.SampledFrom([]schema.DeletionPolicy{schema.DeleteAutoPrune, schema.DeleteManualOnly,
				schema.DeleteNever}).Draw(r, "deletion policy"),
			Decay: schema.DecayProfile{Curve: rapid.SampledFrom([]schema.DecayCurve{schema.CurveExponential,
				schema.CurveLinear, schema.CurveCustom}).Draw(r, "curve"),
				HalfLifeSeconds: rapid.Int64Range(1, 100_000_000).Draw(r, "half-life"),
				MinSalience:     share(r, "min salience"),
				MaxAgeSeconds:   rapid.Int64Range(0, 200_000_000).Draw(r, "max age"), Floor: share(r, "floor"),
				ReinforcementGain: share(r, "gain")}},
		Provenance: schema.Provenance{Sources: refs(r, "source"), CreatedBy: "agent:" + word(r, "by")},
		Relations:  []schema.Relation{},
		Tenant:     word(r, "tenant"), Agent: word(r, "agent"), Project: maybe(r, "project", word),
		PolicyGroup: maybe(r, "group", word),
		Visibility: rapid.SampledFrom([]schema.Visibility{schema.VisibilityPrivate, schema.VisibilityShared,
			schema.VisibilityGlobal}).Draw(r, "visibility"),
		Version: 1, Status: schema.StatusActive,
		Content: "About " + uuidFrom(r).String() + ": " + word(r, "content") + " & <" + word(r, "content") + ">.",
		Category: rapid.SampledFrom([]schema.Category{schema.CategoryFact, schema.CategoryPreference,
			schema.CategoryDecision, schema.CategoryProcedural,
			schema.CategorySemantic, schema.CategoryRule, schema.CategoryLearning,
			schema.CategoryIssue}).Draw(r, "category"),
		Who: maybe(r, "who", word), Session: maybe(r, "session", word), Interaction: maybe(r, "interaction", word),
		Language: rapid.SampledFrom([]string{"en", "de"}).Draw(r, "language"), WorldID: maybe(r, "world", word),
		WorldVersion: maybe(r, "world version", word),
		KeyID:        maybe(r, "key id", word),
		SafeSummary: rapid.SampledFrom([]string{"", "what may be told of it"}).Draw(r,
			"safe summary"),
	}
	if m.Lifecycle.Decay.Curve == schema.CurveCustom && rapid.Bool().Draw(r, "drawn curve") {
		m.Lifecycle.Decay.Points = decayPoints(r)
	}
	if m.Lifecycle.Pinned {
		m.Importance = 1 // pinned records always have importance 1
	}
	if rapid.Bool().Draw(r, "external") {
		m.ExternalID = "mem-" + uuidFrom(r).String()
	}
	m.Payload = tidy(payload(r, t))
	return m
}

// decayPoints returns the points of a custom curve: times ascend, shares never rise, and the share at 0 is 1.
func decayPoints(r *rapid.T) []schema.DecayPoint {
	var out []schema.DecayPoint
	at, left := int64(0), 1000
	for i := range rapid.IntRange(1, 4).Draw(r, "curve points") {
		if i > 0 || rapid.Bool().Draw(r, "later than 0") {
			at += rapid.Int64Range(1, 10_000_000).Draw(r, "seconds between")
			left = rapid.IntRange(0, left).Draw(r, "share left")
		}
		out = append(out, schema.DecayPoint{AfterSeconds: at, Share: float64(left) / 1000})
	}
	return out
}

func payload(r *rapid.T, t schema.MemoryType) any {
	switch t {
	case schema.TypeEpisodic:
		return episodic(r)
	case schema.TypeWorking:
		return working(r)
	case schema.TypeSemantic:
		return semantic(r)
	case schema.TypeCompetence:
		return competence(r)
	default:
		return plan(r)
	}
}

func episodic(r *rapid.T) schema.EpisodicPayload {
	p := schema.EpisodicPayload{Kind: schema.TypeEpisodic, Timeline: []schema.TimelineEvent{},
		ToolGraphRef: maybe(r, "tool graph ref", word),
		Outcome: rapid.SampledFrom([]schema.Outcome{"", schema.OutcomeSuccess, schema.OutcomeFailure,
			schema.OutcomePartial}).Draw(r, "outcome")}
	moment := at(r, "t")
	for range rapid.IntRange(1, 4).Draw(r, "events") {
		p.Timeline = append(p.Timeline, schema.TimelineEvent{T: moment, EventKind: word(r, "event kind"),
			Ref: "evt://" + word(r, "ref"), Summary: maybe(r, "summary", text)})
		moment = moment.Add(time.Duration(rapid.Int64Range(0, 1000).Draw(r, "later")) * time.Millisecond)
	}
	for range rapid.IntRange(0, 2).Draw(r, "artifacts") {
		p.Artifacts = append(p.Artifacts, "file:///"+word(r, "artifact"))
	}
	for i := range rapid.IntRange(0, 3).Draw(r, "tools") {
		node := schema.ToolNode{ID: fmt.Sprintf("n%d", i), Tool: word(r, "tool"), Args: object(r, "args"),
			ResultRef: maybe(r, "result", word)}
		if i > 0 && rapid.Bool().Draw(r, "depends") {
			node.DependsOn = []string{fmt.Sprintf("n%d", i-1)}
		}
		p.ToolGraph = append(p.ToolGraph, node)
	}
	if rapid.Bool().Draw(r, "environment") {
		p.Environment = &schema.Environment{OS: maybe(r, "os", word),
			ToolVersions: map[string]string{"go": word(r, "go")},
			WorkingDir:   maybe(r, "dir", word), Context: object(r, "context")}
	}
	return p
}

func working(r *rapid.T) schema.WorkingPayload {
	p := schema.WorkingPayload{Kind: schema.TypeWorking, ThreadID: "thread-" + word(r, "thread"),
		TaskID: maybe(r, "task", word),
		State: rapid.SampledFrom([]schema.TaskState{schema.TaskPlanning, schema.TaskExecuting,
			schema.TaskBlocked, schema.TaskWaiting}).Draw(r, "state"),
		NextActions: texts(r, "next"), OpenQuestions: texts(r, "open"), ContextSummary: maybe(r, "summary", text),
		LastUpdated: when(r, "last updated")}
	if rapid.Bool().Draw(r, "constraints") {
		p.ActiveConstraints = []json.RawMessage{json.RawMessage(`"no network"`), object(r, "constraint")}
		if p.ActiveConstraints[1] == nil {
			p.ActiveConstraints = p.ActiveConstraints[:1]
		}
	}
	return p
}

func semantic(r *rapid.T) schema.SemanticPayload {
	p := schema.SemanticPayload{Kind: schema.TypeSemantic, Subject: word(r, "subject") + "-" + uuidFrom(r).String(),
		Predicate: "p_" + word(r, "predicate"), Object: value(r, 2),
		RevisionPolicy: rapid.SampledFrom([]schema.RevisionPolicy{"", schema.PolicyReplace,
			schema.PolicyFork, schema.PolicyContest}).Draw(r, "policy"),
		Cardinality: rapid.SampledFrom([]schema.Cardinality{"", schema.CardinalityOne, schema.CardinalityMany}).Draw(r,
			"cardinality")}
	if p.Evidence = refs(r, "evidence"); len(p.Evidence) == 0 { // a put without any is refused
		p.Evidence = []schema.Ref{{Kind: "event", Ref: "evt://" + word(r, "evidence")}}
	}
	p.Validity.Mode = rapid.SampledFrom([]schema.ValidityMode{schema.ValidGlobal, schema.ValidConditional,
		schema.ValidTimeboxed}).Draw(r, "mode")
	switch p.Validity.Mode {
	case schema.ValidConditional:
		p.Validity.Conditions = tidy(map[string]any{"project_kind": word(r, "kind")})
	case schema.ValidTimeboxed:
		start := at(r, "start")
		end := start.Add(time.Duration(rapid.Int64Range(1, 1_000_000).Draw(r, "window")) * time.Second)
		p.Validity.Start, p.Validity.End = &start, &end
		if rapid.Bool().Draw(r, "open end") {
			p.Validity.End = nil
		}
	}
	return p
}

func competence(r *rapid.T) schema.CompetencePayload {
	p := schema.CompetencePayload{Kind: schema.TypeCompetence, SkillName: "skill_" + word(r, "skill"),
		RequiredTools: words(r, "tools"), FailureModes: texts(r, "failure modes"),
		Fallbacks: texts(r, "fallbacks"), Version: maybe(r, "version", word), Performance: performance(r)}
	for range rapid.IntRange(1, 2).Draw(r, "triggers") {
		p.Triggers = append(p.Triggers, schema.Trigger{Signal: text(r, "signal"), Conditions: object(r, "conditions")})
	}
	for range rapid.IntRange(1, 3).Draw(r, "steps") {
		p.Recipe = append(p.Recipe, schema.Step{Step: text(r, "step"), Tool: maybe(r, "tool", word),
			ArgsSchema: object(r, "args schema"),
			Validation: maybe(r, "validation", text), Conditions: object(r, "conditions")})
	}
	if len(p.Fallbacks) > 0 && rapid.Bool().Draw(r, "in full") {
		for i, fallback := range p.Fallbacks {
			step := schema.Step{Step: fallback}
			if i == 0 {
				step.Tool = "shell"
			}
			p.FallbackSteps = append(p.FallbackSteps, step)
		}
	}
	return p
}

func plan(r *rapid.T) schema.PlanGraphPayload {
	p := schema.PlanGraphPayload{Kind: schema.TypePlanGraph, PlanID: "plan-" + word(r, "plan"),
		Version: "1." + word(r, "version"), Intent: maybe(r, "intent", word),
		Constraints: object(r, "constraints"), InputsSchema: object(r, "inputs"), OutputsSchema: object(r, "outputs"),
		Edges: []schema.PlanEdge{}, Metrics: performance(r)}
	for i := range rapid.IntRange(1, 5).Draw(r, "nodes") {
		p.Nodes = append(p.Nodes, schema.PlanNode{ID: fmt.Sprintf("n%d", i), Op: word(r, "op"),
			Params: object(r, "params"), Guards: object(r, "guards")})
		if i > 0 && rapid.Bool().Draw(r, "edge") {
			p.Edges = append(p.Edges, schema.PlanEdge{From: fmt.Sprintf("n%d", rapid.IntRange(0, i-1).Draw(r, "from")),
				To:   fmt.Sprintf("n%d", i),
				Kind: rapid.SampledFrom([]schema.EdgeKind{schema.EdgeData, schema.EdgeControl}).Draw(r, "edge kind")})
		}
	}
	return p
}

func performance(r *rapid.T) *schema.Performance {
	if rapid.Bool().Draw(r, "no performance") {
		return nil
	}
	rate, latency := share(r, "rate"), float64(rapid.IntRange(0, 5000).Draw(r, "latency"))
	return &schema.Performance{SuccessCount: rapid.Int64Range(0, 99).Draw(r, "successes"),
		FailureCount: rapid.Int64Range(0, 99).Draw(r, "failures"),
		SuccessRate:  &rate, AvgLatencyMS: &latency, LastUsedAt: when(r, "last used")}
}

func refs(r *rapid.T, label string) []schema.Ref {
	out := []schema.Ref{}
	for range rapid.IntRange(0, 3).Draw(r, label+"s") {
		out = append(out,
			schema.Ref{Kind: rapid.SampledFrom([]string{"event", "artifact", "tool_call", "observation",
				"outcome", "human"}).Draw(r, "ref kind"),
				Ref: "evt://" + word(r, "ref"), Hash: maybe(r, "hash", word), Timestamp: when(r, "ref time")})
	}
	return out
}

// tidy encodes a value in the form that decoding a record returns.
func tidy(v any) json.RawMessage {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	dec := json.NewDecoder(bytes.NewReader(encoded))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		panic(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// value returns any JSON value except null.
func value(r *rapid.T, depth int) json.RawMessage { return tidy(anything(r, depth)) }

func anything(r *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(r, "value kind") {
	case 0:
		return rapid.Bool().Draw(r, "bool")
	case 1:
		return rapid.Int64Range(-1<<53, 1<<53).Draw(r, "int")
	case 2:
		return share(r, "number")
	case 3:
		return text(r, "text")
	case 4:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(r, "elements") {
			out = append(out, anything(r, depth-1))
		}
		return out
	default:
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(r, "members") {
			out[text(r, "name")] = anything(r, depth-1)
		}
		return out
	}
}

// object returns an object with members, or nothing.
func object(r *rapid.T, label string) json.RawMessage {
	if rapid.Bool().Draw(r, "no "+label) {
		return nil
	}
	return tidy(map[string]any{word(r, label): anything(r, 1)})
}

func id(r *rapid.T) string { return uuidFrom(r).String() }

func uuidFrom(r *rapid.T) uuid.UUID {
	b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(r, "uuid")
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return uuid.UUID(b)
}

// at returns a time in UTC with microseconds.
func at(r *rapid.T, label string) time.Time {
	return time.UnixMicro(rapid.Int64Range(946684800_000000, 1893456000_000000).Draw(r, label)).UTC()
}

func when(r *rapid.T, label string) *time.Time {
	if rapid.Bool().Draw(r, "no "+label) {
		return nil
	}
	t := at(r, label)
	return &t
}

func share(r *rapid.T, label string) float64 {
	return float64(rapid.IntRange(0, 1000).Draw(r, label)) / 1000
}

func word(r *rapid.T, label string) string {
	return rapid.StringMatching(`[a-z][a-z0-9]{0,11}`).Draw(r, label)
}

// text generates texts that bugs often damage: quotes, markup, control characters, other scripts, emoji.
func text(r *rapid.T, label string) string {
	return "x" + rapid.StringOfN(rapid.SampledFrom([]rune("ab z09\"\\/<>&'\t\né漢\u2028\U0001F600{}[]:,")),
		0, 20, -1).Draw(r, label) + "x"
}

func texts(r *rapid.T, label string) []string { return several(r, label, text) }

func words(r *rapid.T, label string) []string { return several(r, label, word) }

func several(r *rapid.T, label string, draw func(*rapid.T, string) string) []string {
	var out []string
	for range rapid.IntRange(0, 3).Draw(r, label+"s") {
		out = append(out, draw(r, label))
	}
	return out
}

func maybe(r *rapid.T, label string, draw func(*rapid.T, string) string) string {
	if rapid.Bool().Draw(r, "no "+label) {
		return ""
	}
	return draw(r, label)
}
