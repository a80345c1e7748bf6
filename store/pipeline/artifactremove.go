package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// RemovedArtifacts counts artifacts that a principal no longer keeps. Kept ones are still stored, because a memory
// refers to them, or another user or agent has stored the same bytes.
type RemovedArtifacts struct {
	Removed int `json:"removed"`
	Kept    int `json:"kept"`
}

// releaseBatch is the maximum number of artifacts that one transaction removes.
const releaseBatch = 100

// RemoveArtifact removes an artifact that the principal stored. It returns ErrNotFound if the principal has stored no
// artifact under the address.
func (s *Pipeline) RemoveArtifact(ctx context.Context, p schema.Principal, address string,
	now time.Time) (RemovedArtifacts, error) {
	sum, err := artifactSum(address)
	if err != nil {
		return RemovedArtifacts{}, err
	}
	out, _, err := s.release(ctx, p.Tenant, now, `h.sha256 = @sum AND h.agent_id = @agent
		AND `+pg.OfUser("h.scope", "@grants"), pg.Args{"sum": sum, "agent": p.Agent, "grants": pg.ChangeGrants(p)})
	if err == nil && out.Removed+out.Kept == 0 {
		err = fmt.Errorf("artifact: %w", pg.ErrNotFound)
	}
	return out, err
}

// RemoveArtifactsOf removes all artifacts that a user stored, through every agent.
func (s *Pipeline) RemoveArtifactsOf(ctx context.Context, tenant, user string, now time.Time) (RemovedArtifacts, error) {
	var all RemovedArtifacts
	for {
		out, rows, err := s.release(ctx, tenant, now, `h.scope = @scope`, pg.Args{"scope": schema.UserScope(user)})
		all.Removed, all.Kept = all.Removed+out.Removed, all.Kept+out.Kept
		if err != nil || rows < releaseBatch {
			return all, err
		}
	}
}

// release removes at most releaseBatch holders of artifacts, and the artifacts that are left without a holder and
// without a memory. It returns the number of holders.
func (s *Pipeline) release(ctx context.Context, tenant string, now time.Time, holders string,
	args pg.Args) (out RemovedArtifacts, rows int, err error) {
	args["tenant"], args["limit"] = tenant, releaseBatch
	err = pg.RetryChange(ctx, func() error { // a memory may refer to an artifact meanwhile
		return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
			sums, err := commit.Values[[]byte](ctx, c.Tx, `
				DELETE FROM artifact_holders d
				USING (
					SELECT h.sha256, h.agent_id, h.scope
					FROM artifact_holders h
					WHERE h.tenant = @tenant AND `+holders+`
					ORDER BY h.sha256, h.agent_id, h.scope
					LIMIT @limit
					FOR UPDATE) x
				WHERE d.tenant = @tenant AND d.sha256 = x.sha256 AND d.agent_id = x.agent_id AND d.scope = x.scope
				RETURNING d.sha256`, args)
			if err != nil {
				return err
			}
			rows = len(sums)
			return c.Tx.QueryRow(ctx, `
				WITH released AS (
					SELECT DISTINCT sum FROM unnest(@sums::bytea[]) sum
				), removed AS (
					DELETE FROM artifacts a
					USING released r
					WHERE a.tenant = @tenant AND a.sha256 = r.sum
						AND NOT EXISTS (
							SELECT FROM memory_artifacts x
							WHERE x.tenant = @tenant AND x.sha256 = a.sha256)
						AND NOT EXISTS (
							SELECT FROM artifact_holders h
							WHERE h.tenant = @tenant AND h.sha256 = a.sha256)
					RETURNING 1
				)
				SELECT (SELECT count(*) FROM removed), (SELECT count(*) FROM released) - (SELECT count(*) FROM removed)`,
				pg.Args{"tenant": tenant, "sums": sums}).Scan(&out.Removed, &out.Kept)
		})
	})
	if err != nil {
		return RemovedArtifacts{}, 0, fmt.Errorf("remove artifacts: %w", err)
	}
	return out, rows, nil
}
