package commit

import (
	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/store/pg"
)

// Hint appends questions that a memory answers to its hints, up to memory.MaxHints.
func (c *Change) Hint(id uuid.UUID, hints []memory.Hint) {
	if len(hints) == 0 {
		return
	}
	texts, sources := make([]string, len(hints)), make([]string, len(hints))
	for i, h := range hints {
		texts[i], sources[i] = h.Text, string(h.Source)
	}
	c.Queue.Queue(`
		INSERT INTO memory_hints (tenant, memory_id, position, source, hint, created_at)
		SELECT @tenant, @memory_id, had.n + row_number() OVER (ORDER BY h.n) - 1, h.source, h.hint, @now
		FROM unnest(@hints::text[], @sources::text[]) WITH ORDINALITY h(hint, source, n),
			(SELECT count(*) AS n FROM memory_hints WHERE tenant = @tenant AND memory_id = @memory_id) had
		WHERE had.n + h.n <= @most
			AND NOT EXISTS (
				SELECT FROM memory_hints o
				WHERE o.tenant = @tenant AND o.memory_id = @memory_id AND o.hint = h.hint)
		ON CONFLICT DO NOTHING`,
		pg.Args{
			"tenant":    c.Tenant,
			"memory_id": id,
			"hints":     texts,
			"sources":   sources,
			"now":       c.Now,
			"most":      memory.MaxHints,
		})
}

// rehint replaces all hints of a memory by those that rules write for its new text or speaker. A model's hints are
// dropped, because they were about the old text.
func (c *Change) rehint(m MemoryRow, set map[string]any) {
	content, who, claim := m.Content, m.Who, memory.Claim{Subject: m.Subject, Predicate: m.Predicate}
	if text, ok := set["content"].(string); ok {
		content = text
	}
	if name, ok := set["who"].(string); ok {
		who = name
	}
	if subject, ok := set["subject"]; ok && subject == nil {
		claim = memory.Claim{}
	}
	c.Queue.Queue(`DELETE FROM memory_hints WHERE tenant = $1 AND memory_id = $2`, c.Tenant, m.ID)
	c.Hint(m.ID, memory.RuleHints(content, who, claim))
}

// hintsOf returns the hints of a new memory.
func hintsOf(r *NewMemory) []memory.Hint {
	if r.Hints != nil {
		return r.Hints
	}
	return memory.RuleHints(r.Text.Storage, r.Who, r.Claim)
}
