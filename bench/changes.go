package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// changing has the flags of the part changes.
type changing struct {
	seed                                    uint64
	half, scenarios, questions              string
	quick, atOnce, showFailures, showHidden bool
}

// quickShare is how much of the tenants a quick run measures.
const quickShare = 0.2

// changes measures how well memory follows changed facts: see package bench/changes. The pipeline and the read path are
// those of a deployment with all defaults, but without Temporal and with a simulated clock.
func (b *bench) changes(ctx context.Context) error {
	share := 1.0
	if b.changing.quick {
		share = quickShare
	}
	generated := changes.Generate(b.changing.seed, share)
	if b.changing.scenarios != "" {
		text, err := os.ReadFile(b.changing.scenarios)
		if err != nil {
			return err
		}
		if generated, err = changes.FromScenarios(b.changing.seed, string(text)); err != nil {
			return err
		}
	}
	if b.changing.questions != "" {
		text, err := os.ReadFile(b.changing.questions)
		if err != nil {
			return err
		}
		tenant, err := changes.FromQuestions(b.changing.seed, string(text))
		if err != nil {
			return err
		}
		generated = []changes.Tenant{tenant}
	}
	var tenants []changes.Tenant
	for _, t := range generated {
		if b.changing.half == "all" || b.changing.half == t.Half {
			tenants = append(tenants, t)
		}
	}
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	results := make([]tenantResult, len(tenants))
	_, took, err := measure(2, len(tenants), func(i int) error {
		r, err := b.follow(ctx, s, tenants[i])
		results[i] = r // each call writes its own element
		return err
	})
	if err != nil {
		return err
	}
	b.reportChanges(tenants, results, took)
	return nil
}

// told is a tenant's memory, with the statements from which each memory comes.
type told struct {
	tenant  changes.Tenant
	from    map[string]map[int]bool // by memory id
	touched map[int]bool            // statements with a memory that was superseded or is contested
	recall  func(question string) ([]schema.RecallResult, error)
}

// follow ingests a tenant's statements, with one request for each session or, with -at-once, in one request, and asks
// the questions.
func (b *bench) follow(ctx context.Context, s site, t changes.Tenant) (tenantResult, error) {
	who := schema.Principal{Tenant: t.Name, Agent: "bench-agent"}
	p := b.newPipeline(s.Store)
	ids := make([]string, 0, len(t.Statements))
	for start := 0; start < len(t.Statements); {
		req := schema.IngestRequest{Principal: who}
		end := start
		for ; end < len(t.Statements); end++ {
			st := t.Statements[end]
			if st.Session != t.Statements[start].Session && !b.changing.atOnce {
				break
			}
			req.Candidates = append(req.Candidates,
				schema.Candidate{Content: st.Text, Speaker: st.Speaker, SourceKind: st.Kind,
					OccurredAt: &st.At, Session: fmt.Sprintf("session %d", st.Session)})
		}
		ack, err := p.ingest(ctx, req, t.Statements[end-1].At.Add(time.Minute))
		if err != nil {
			return tenantResult{}, fmt.Errorf("tenant %s: %w", t.Name, err)
		}
		ids = append(ids, ack.MemoryIDs...)
		start = end
	}
	m := &told{tenant: t}
	if err := m.trace(ctx, b, s, ids); err != nil {
		return tenantResult{}, err
	}
	recaller := b.recaller(s.Store, changes.End)
	m.recall = func(question string) ([]schema.RecallResult, error) {
		resp, err := recaller.Recall(ctx, schema.RecallRequest{Principal: who, Query: question})
		if err == nil && len(resp.Meta.Degraded) > 0 {
			err = fmt.Errorf("degraded: %v", resp.Meta.Degraded)
		}
		return resp.Results, err
	}
	return m.judge()
}

// trace finds the statements from which every memory comes: its own statement, those from which it was derived, and
// those with the same words.
func (m *told) trace(ctx context.Context, b *bench, s site, ids []string) error {
	m.from, m.touched = map[string]map[int]bool{}, map[int]bool{}
	byText := map[string]int{}
	note := func(id string, statement int) bool {
		if m.from[id] == nil {
			m.from[id] = map[int]bool{}
		}
		fresh := !m.from[id][statement]
		m.from[id][statement] = true
		return fresh
	}
	for i, id := range ids {
		note(id, i)
	}
	for i, st := range m.tenant.Statements {
		byText[string(normalize.Normalize(st.Text).Hash)] = i
	}
	sources := map[string][]string{} // what a memory was derived from
	status := map[string]string{}
	err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		var id, source, state, content string
		rows, err := conn.Query(ctx, `SELECT id::text, content,
				CASE WHEN superseded_by IS NULL THEN status ELSE 'superseded' END
			FROM memories WHERE tenant = $1`, m.tenant.Name)
		if err != nil {
			return err
		}
		if _, err := pgx.ForEachRow(rows, []any{&id, &content, &state}, func() error {
			status[id] = state
			if at, ok := byText[string(normalize.Normalize(content).Hash)]; ok {
				note(id, at)
			}
			return nil
		}); err != nil {
			return err
		}
		rows, err = conn.Query(ctx, `SELECT source_id::text, target_id::text FROM memory_links
			WHERE tenant = $1 AND predicate = 'derived_from'`, m.tenant.Name)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, []any{&id, &source}, func() error {
			sources[id] = append(sources[id], source)
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	for again := true; again; { // until nothing new is found
		again = false
		for id, list := range sources {
			for _, source := range list {
				for statement := range m.from[source] {
					again = note(id, statement) || again
				}
			}
		}
	}
	for id, state := range status {
		if state == string(schema.StatusSuperseded) || state == string(schema.StatusContested) {
			for statement := range m.from[id] {
				m.touched[statement] = true
			}
		}
	}
	return nil
}

// is reports whether a result is a statement or comes from it, and not from any of the others named.
func (m *told) is(r schema.RecallResult, statement int, not ...int) bool {
	from := m.from[r.ID]
	for _, other := range not {
		if from[other] {
			return false
		}
	}
	return from[statement]
}
