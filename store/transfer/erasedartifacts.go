package transfer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// ArtifactCheck notes which memories of an export refer to each artifact.
type ArtifactCheck struct {
	memories map[string][]uuid.UUID // by the artifact's SHA-256 in hexadecimal
}

// Add notes the artifacts of a line.
func (k *ArtifactCheck) Add(line ExportLine) {
	if line.Record == nil {
		return
	}
	id, err := uuid.Parse(line.Record.ID)
	if err != nil {
		return
	}
	for _, name := range line.Artifacts {
		if k.memories == nil {
			k.memories = map[string][]uuid.UUID{}
		}
		sum := strings.ToLower(strings.TrimPrefix(name, schema.ArtifactPrefix))
		k.memories[sum] = append(k.memories[sum], id)
	}
}

// ErasedArtifacts returns the artifacts, by their SHA-256 in hexadecimal, whose memories in the export were all erased
// in the tenant or deleted for good. They went with the memories and are not restored.
func (s *Transfer) ErasedArtifacts(ctx context.Context, tenant string, k ArtifactCheck) (map[string]bool, error) {
	var named []uuid.UUID
	for _, ids := range k.memories {
		named = append(named, ids...)
	}
	out := map[string]bool{}
	if len(named) == 0 {
		return out, nil
	}
	var erased []uuid.UUID
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		erased, err = commit.Values[uuid.UUID](ctx, tx, `
			SELECT id
			FROM memories
			WHERE tenant = @tenant AND id = ANY(@ids) AND erased_at IS NOT NULL
			UNION ALL
			SELECT id
			FROM unnest(@ids::uuid[]) x(id)
			WHERE `+commit.Forgotten,
			pg.Args{"tenant": tenant, "ids": named})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read erased memories: %w", err)
	}
	gone := make(map[uuid.UUID]bool, len(erased))
	for _, id := range erased {
		gone[id] = true
	}
	for sum, ids := range k.memories {
		if !slices.ContainsFunc(ids, func(id uuid.UUID) bool { return !gone[id] }) {
			out[sum] = true
		}
	}
	return out, nil
}
