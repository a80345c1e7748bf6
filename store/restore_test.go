package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/transfer"
)

// varied fills a world with every kind of data: ingested, linked, put, revised, modified, contested, forgotten in
// every mode, recovered and read, by two agents and in a scope.
func (w *world) varied() {
	w.t.Helper()
	_, r := w.linkable("Alice knows Bob. Bob lives in Rome.", triple("Alice", "knows", "Bob"),
		triple("Bob", "lives in", "Rome"))
	w.link(r)
	_, r = w.linkable("Alice knows Bob well", triple("alice", "knows", "Bob"))
	w.link(r)
	rome := w.claimed("Bob lives in Rome", "Bob", "Rome")
	_, r = w.source("Bob moved to Oslo, says Alice",
		idea{fact: lives("Bob lives in Oslo", "Bob", "Oslo"), action: schema.ActionUpdate, target: rome})
	w.write(r)
	language := w.created(likes(w.t, "", "go", always))
	w.applied(w.revision(schema.ReviseSupersede, same(likes(w.t, "", "rust", always)), w.as(language)...))
	tea, coffee := w.explicit("Tea is served hot & <strong>"), w.explicit("Coffee is served black")
	w.modify(schema.Patch{ID: tea.String(), Content: ptr("Tea is served cold"), Tags: &[]string{"drinks"}})
	artifact, err := w.PutArtifact(ctx, w.p, strings.NewReader("a log\x00 with bytes"), "text/plain", "", w.now)
	require.NoError(w.t, err)
	_, err = w.PutArtifact(ctx, w.p, strings.NewReader("no one refers to this"), "", "", w.now)
	require.NoError(w.t, err)
	w.created(record(w.t, `{"type": "episodic", "confidence": 1, "payload": {"kind": "episodic", "artifacts": [%q],
		"timeline": [{"t": "2026-01-01T00:00:00.123456Z", "event_kind": "observation", "ref": "e1", "summary": "the build failed"}]}}`, artifact.Address))
	w.created(task(w.t, "", "planning", "set the project up"))
	w.created(record(w.t,
		`{"id": "elsewhere-7", "type": "competence", "confidence": 0.7, "payload": {"kind": "competence", "skill_name": "fix_linker",
		"triggers": [{"signal": "ld: cache mismatch"}], "recipe": [{"step": "Clear the cache"}], "performance": {"success_count": 3}}}`))
	w.forgetAll(w.forgets(schema.ForgetSoft, named(coffee)))
	w.forgetAll(w.forgets(schema.ForgetForce, named(w.explicit("This is really deleted"))))
	w.forgetAll(w.forgets(schema.ForgetErase, named(w.explicit("This is erased"))))
	back := w.explicit("This comes back")
	w.forgetAll(w.forgets(schema.ForgetSoft, named(back)))
	w.recoverOne(back)
	require.NoError(w.t, w.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: w.p,
		MemoryIDs: []uuid.UUID{tea, back}}, w.now))
	for i, session := range []string{"s1", "s1", "s2"} { // the ledger, with a repeated and an erased event
		_, err = w.Stage(ctx, w.input(schema.Candidate{Content: []string{"The pump leaks", "The pump leaks",
			"The tap drips"}[i], SourceKind: schema.SourceUserInput, Session: session}))
		require.NoError(w.t, err)
	}
	w.forgetAll(w.forgets(schema.ForgetErase, schema.Selector{IDs: w.ids("content = 'The tap drips'")}))
	other := *w
	other.p = schema.Principal{Tenant: w.p.Tenant, Agent: "b", Scope: "elsewhere", Project: "p"}
	other.stage(schema.Candidate{Content: "Another agent's memory", SourceKind: schema.SourceMemory,
		Sensitivity: schema.SensitivityHyper, Speaker: "Zoë",
		Refs: []schema.Ref{{Kind: "event", Ref: "e/1", Hash: "h"}}})
}

// dump reads the rows that an export contains.
func (w *world) dump(tenant string) map[string][]string {
	w.t.Helper()
	out := map[string][]string{}
	for table, order := range map[string]string{
		"memories": "id", "memory_access": "memory_id", "memory_history": "memory_id, seq",
		"memory_versions": "memory_id, version", "memory_links": "source_id, predicate, target_id",
		"memory_provenance": "memory_id, position", "memory_hints": "memory_id, position",
		"entity_claims": "memory_id, subject, predicate",
		"entities":      "canonical_name", "entity_relations": "source_id, relationship, target_id",
		"memory_entity_mentions":  "memory_id, entity_id",
		"entity_relation_sources": "memory_id, source_id, relationship, target_id", "artifacts": "sha256",
		"memory_artifacts": "memory_id, sha256", "artifact_holders": "sha256, agent_id, scope",
		"lexeme_stats": "lexeme", "corpus_stats": "tenant", "events": "stream, seq",
	} {
		filter := ""
		switch table {
		case "lexeme_stats":
			filter = " AND docs <> 0"
		case "entities", "entity_relations":
			filter = " AND mentions > 0" // an entity without mentions belongs to no memory
		}
		rows, err := w.owner.Query(ctx,
			`SELECT ((to_jsonb(x) - '{tenant,seq,embedding_id}'::text[])#-'{record,tenant}')::text FROM `+table+
				` x WHERE tenant = $1`+filter+` ORDER BY `+order, tenant)
		require.NoError(w.t, err)
		out[table] = []string{}
		for rows.Next() {
			var row string
			require.NoError(w.t, rows.Scan(&row))
			out[table] = append(out[table], row)
		}
		require.NoError(w.t, rows.Err())
	}
	return out
}

func (w *world) whole() transfer.ExportSelection {
	return transfer.ExportSelection{Filter: pg.Filter{Principal: w.p}, AllAgents: true, IncludeDeleted: true}
}

// export writes the lines of a file.
func (w *world) export(x transfer.ExportSelection) [][]byte {
	w.t.Helper()
	var out [][]byte
	_, err := w.Export(ctx, x, w.now, func(line transfer.ExportLine) error {
		encoded, err := json.Marshal(line)
		out = append(out, encoded)
		return err
	})
	require.NoError(w.t, err)
	return out
}

func parsed(t testing.TB, lines ...[]byte) []transfer.ExportLine {
	t.Helper()
	out := make([]transfer.ExportLine, len(lines))
	for i, line := range lines {
		var err error
		out[i], err = transfer.DecodeExportLine(line)
		require.NoError(t, err)
	}
	return out
}

// restore restores lines in batches.
func (w *world) restore(tenant string, lines [][]byte, size int) transfer.RestoreResult {
	w.t.Helper()
	var total transfer.RestoreResult
	all := parsed(w.t, lines...)
	for len(all) > 0 {
		n := min(size, len(all))
		out, err := w.Restore(ctx, tenant, all[:n], w.now.AddDate(1, 0, 0))
		require.NoError(w.t, err)
		total.Restored += out.Restored
		total.Events += out.Events
		total.Unchanged += out.Unchanged
		total.Conflicts = append(total.Conflicts, out.Conflicts...)
		total.Pending = append(total.Pending, out.Pending...)
		all = all[n:]
	}
	_, missing, err := w.RestoreRelations(ctx, tenant, total.Pending, w.now)
	require.NoError(w.t, err)
	total.Relations = missing
	return total
}

func TestARestoredDatabaseIsEqual(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.varied()
	lines := w.export(w.whole())
	want := w.dump("t")
	for table, rows := range want {
		require.NotEmpty(t, rows, table)
	}

	to := newWorld(t)
	got := to.restore("t", lines, 7)
	require.Equal(t, len(want["memories"]), got.Restored)
	require.Empty(t, got.Conflicts)
	require.Zero(t, got.Relations, "every relation has its target")
	require.Equal(t, want, to.dump("t"))
	to.requireExactStats()
	require.Zero(t, to.count("memories m",
		`live AND NOT EXISTS (SELECT FROM index_outbox o WHERE o.memory_id = m.id AND o.version = m.version AND o.op = 'upsert')`))
	for _, query := range []string{"Bob", "tea", "build failed", "Another agent", "erased", "coffee"} {
		require.Equal(t, w.search(query), to.search(query), query)
	}
	all, err := to.Outbox(ctx, "t", hash, nil, 500)
	require.NoError(t, err)
	require.Len(t, all, to.count("memories", "live"), "every live memory can be indexed")

	// A second restore changes nothing, even after reads. A second export is the same.
	require.NoError(t, to.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: to.p,
		MemoryIDs: []uuid.UUID{uuid.MustParse(to.ids("live")[0])}}, to.now))
	before := to.snapshot()
	got = to.restore("t", lines, 3)
	require.Equal(t, transfer.RestoreResult{Unchanged: len(want["memories"])}, got)
	require.Equal(t, before, to.snapshot())

	// It can be restored into another tenant: ids are per tenant.
	to.restore("t2", lines, 1000)
	second := to.dump("t2")
	delete(second, "memory_access")
	first := want
	delete(first, "memory_access")
	require.Equal(t, first, second)
	require.Zero(t, to.count("memory_versions", `tenant = 't2' AND record->>'tenant' <> 't2'`))
	to.requireExactStats()
	to.requireExactMentions()
}

func (w *world) ids(where string) []string {
	w.t.Helper()
	var out []string
	require.NoError(w.t,
		w.owner.QueryRow(ctx, `SELECT array_agg(id::text ORDER BY id) FROM memories WHERE tenant = 't' AND `+
			where).Scan(&out))
	return out
}

// A restore that is interrupted anywhere and started again from the beginning ends with the same database.
func TestAnInterruptedRestoreCanBeRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.varied()
	lines := w.export(w.whole())
	want := w.dump("t")
	for _, cut := range []int{1, 4, len(lines) / 2, len(lines) - 1} {
		to := newWorld(t)
		for i := 0; i < cut; i++ { // pending relations are lost with the process
			_, err := to.Restore(ctx, "t", parsed(t, lines[i]), to.now)
			require.NoError(t, err)
		}
		// The batch that fails changes nothing.
		before := to.snapshot()
		to.breaking("memory_history", func() {
			_, err := to.Restore(ctx, "t", parsed(t, lines[cut:]...), to.now)
			if cut < len(lines)-1 {
				require.Error(t, err)
			}
		})
		require.Equal(t, before, to.snapshot())
		to.restore("t", lines, 5)
		require.Equal(t, want, to.dump("t"), cut)
		to.requireExactStats()
	}
}

func TestRestoreOverwritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	same, changed, erased := w.explicit("This stays"), w.explicit("This changes"), w.explicit("This is to be erased")
	duplicate := w.explicit("Said by two")
	fact := w.claimed("Bob lives in Rome", "Bob", "Rome")
	lines := w.export(w.whole())

	w.modify(schema.Patch{ID: changed.String(), Content: ptr("This has changed")})
	w.forgetAll(w.forgets(schema.ForgetErase, named(erased)))
	before := w.dump("t")
	got := w.restore("t", lines, 100)
	require.Equal(t, 2, len(got.Conflicts))
	for _, c := range got.Conflicts {
		require.Contains(t, []string{changed.String(), erased.String()}, c.ID)
		require.Equal(t, transfer.ConflictDifferent, c.Reason)
	}
	require.Equal(t, len(w.ids("true"))-2, got.Unchanged)
	require.Equal(t, before, w.dump("t"), "an erased memory stays erased, although the file contains it")
	_ = same

	// Another database has the same content with other ids.
	to := newWorld(t)
	to.explicit("Said by two")
	to.claimed("Bob lives in Oslo", "Bob", "Oslo")
	got = to.restore("t", lines, 100)
	reasons := map[string]string{}
	for _, c := range got.Conflicts {
		reasons[c.ID] = c.Reason
	}
	require.Equal(t, map[string]string{duplicate.String(): transfer.ConflictDuplicate,
		fact.String(): transfer.ConflictFact}, reasons)
	to.requireExactStats()
}

func TestExportSelects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.varied()
	contents := func(x transfer.ExportSelection) string {
		var out []string
		for _, line := range parsed(t, w.export(x)...) {
			if line.Kind == transfer.LineMemory {
				out = append(out, line.Record.Content)
			}
		}
		return strings.Join(out, "|")
	}
	own := transfer.ExportSelection{Filter: pg.Filter{Principal: w.p}}
	require.NotContains(t, contents(own), "Another agent")
	require.NotContains(t, contents(own), "Coffee", "deleted")
	require.Contains(t, contents(own), "Rome", "a superseded memory belongs to its chain")
	own.IncludeDeleted = true
	require.Contains(t, contents(own), "Coffee")
	own.Filter.Tags = []string{"drinks"}
	require.Equal(t, "Tea is served cold", contents(own))
	require.Contains(t, contents(w.whole()), "Another agent")
	limited := w.whole()
	limited.Filter.MaxSensitivity = schema.SensitivityHigh
	require.NotContains(t, contents(limited), "Another agent")
	scoped := transfer.ExportSelection{Filter: pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "b",
		Scope: "elsewhere"}}}
	require.Equal(t, "Another agent's memory", contents(scoped))
	scoped.Filter.Principal.Tenant = "t2"
	require.Empty(t, contents(scoped))

	// A selection can be restored alone; its missing targets are reported.
	to := newWorld(t)
	got := to.restore("t", w.export(transfer.ExportSelection{Filter: pg.Filter{Principal: w.p,
		Types: []schema.MemoryType{schema.TypeSemantic}}}), 10)
	require.Empty(t, got.Conflicts)
	require.Positive(t, got.Relations)
	to.requireExactStats()
	to.requireExactMentions()

	// The last line of a file has the counts. An error of the receiver ends the export.
	all := parsed(t, w.export(w.whole())...)
	require.Equal(t, transfer.ExportFormat, all[0].Format)
	require.Equal(t, transfer.LineEnd, all[len(all)-1].Kind)
	require.Equal(t, len(w.ids("true")), all[len(all)-1].Counts.Memories)
	full := errors.New("disk full")
	_, err := w.Export(ctx, w.whole(), w.now, func(transfer.ExportLine) error { return full })
	require.ErrorIs(t, err, full)
}

// An export does not contain what is written while it runs: it has one state of the database.
func TestAnExportHasOneStateOfTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.explicit("Before")
	n := 0
	_, err := w.Export(ctx, w.whole(), w.now, func(line transfer.ExportLine) error {
		if line.Kind == transfer.LineHeader {
			w.explicit("Meanwhile")
		}
		if line.Kind == transfer.LineMemory {
			n++
			require.Equal(t, "Before", line.Record.Content)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
