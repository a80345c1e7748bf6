package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// MaxArtifactBytes is the largest size of an artifact: one statement stores it.
const MaxArtifactBytes = 16 << 20

var (
	// ErrAddressMismatch means that the bytes do not have the given content address.
	ErrAddressMismatch = errors.New("the content does not match its address")
	// ErrArtifactTooLarge means that an artifact has more than MaxArtifactBytes.
	ErrArtifactTooLarge = fmt.Errorf("an artifact has at most %d MiB", MaxArtifactBytes>>20)
)

// Artifact is a large object that episodes refer to: a log, a screenshot, a file (document 004 §15.3). Its address
// is computed from its content.
type Artifact struct {
	Address   string    `json:"address"` // sha256: and 64 hexadecimal digits
	MediaType string    `json:"media_type"`
	Size      int64     `json:"size"` // bytes
	CreatedAt time.Time `json:"created_at"`
}

// PutArtifact stores bytes under the address of their content and returns the stored artifact. If the bytes are
// stored already, the media type and the time of the first put remain. It returns ErrAddressMismatch if a non-empty
// address is not that of the bytes. The database checks the address too.
func (s *Pipeline) PutArtifact(ctx context.Context, p schema.Principal, content io.Reader, mediaType, address string,
	now time.Time) (Artifact, error) {
	data, err := io.ReadAll(io.LimitReader(content, MaxArtifactBytes+1))
	if err != nil {
		return Artifact{}, fmt.Errorf("read artifact: %w", err)
	}
	if len(data) > MaxArtifactBytes {
		return Artifact{}, fmt.Errorf("put artifact: %w", ErrArtifactTooLarge)
	}
	sum := sha256.Sum256(data)
	if address != "" {
		want, err := artifactSum(address)
		if err != nil {
			return Artifact{}, err
		}
		if !bytes.Equal(want, sum[:]) {
			return Artifact{}, fmt.Errorf("put artifact: %w", ErrAddressMismatch)
		}
	}
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	out := Artifact{Address: schema.ArtifactPrefix + hex.EncodeToString(sum[:])}
	err = pg.RetryChange(ctx, func() error { // a concurrent change may erase the same bytes
		return commit.Write(ctx, s.DB, p.Tenant, now, func(c *commit.Change) error {
			return putArtifact(ctx, c, p, sum[:], data, mediaType, &out)
		})
	})
	if err != nil {
		return Artifact{}, fmt.Errorf("put artifact: %w", err)
	}
	return out, nil
}

func putArtifact(ctx context.Context, c *commit.Change, p schema.Principal, sum, data []byte, mediaType string,
	out *Artifact) error {
	if err := c.LockStoredArtifacts(ctx); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(ctx, artifactSQL, pg.Args{
		"tenant":     c.Tenant,
		"sha256":     sum,
		"media_type": mediaType,
		"size":       len(data),
		"content":    data,
		"agent_id":   p.Agent,
		"created_at": c.Now,
	}); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(ctx, artifactHolderSQL, pg.Args{
		"tenant":   c.Tenant,
		"sha256":   sum,
		"agent_id": p.Agent,
		"scope":    pg.UserScope(p),
	}); err != nil {
		return err
	}
	return c.Tx.QueryRow(ctx, `
		SELECT media_type, size, created_at
		FROM artifacts
		WHERE tenant = $1 AND sha256 = $2`, c.Tenant, sum).Scan(&out.MediaType, &out.Size, &out.CreatedAt)
}

var (
	artifactSQL = commit.Insert("artifacts", "tenant, sha256, media_type, size, content, agent_id, created_at") +
		" ON CONFLICT DO NOTHING"
	artifactHolderSQL = commit.Insert("artifact_holders", "tenant, sha256, agent_id, scope") +
		" ON CONFLICT DO NOTHING"
)

// storedArtifact is an artifact with its bytes.
type storedArtifact struct {
	MediaType string
	Size      int64
	CreatedAt time.Time
	Content   []byte
}

// GetArtifact returns the bytes at an address if the principal stored them or may read a memory that refers to
// them. Otherwise, and for an address without an artifact, it returns ErrNotFound.
func (s *Pipeline) GetArtifact(ctx context.Context, p schema.Principal, address string) (Artifact, []byte, error) {
	sum, err := artifactSum(address)
	if err != nil {
		return Artifact{}, nil, err
	}
	var stored storedArtifact
	err = s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		stored, err = commit.Row[storedArtifact](ctx, tx, `
			SELECT a.media_type, a.size, a.created_at, a.content
			FROM artifacts a
			WHERE a.tenant = @tenant AND a.sha256 = @sum AND `+commit.MaySeeArtifact,
			asking(p, pg.ReadGrants(p), pg.Args{"sum": sum}))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Artifact{}, nil, fmt.Errorf("artifact: %w", pg.ErrNotFound)
	}
	if err != nil {
		return Artifact{}, nil, fmt.Errorf("read artifact: %w", err)
	}
	return Artifact{Address: address, MediaType: stored.MediaType, Size: stored.Size,
		CreatedAt: stored.CreatedAt}, stored.Content, nil
}

// RemovedArtifacts counts artifacts that a principal no longer keeps. Kept ones are still stored, because a memory
// refers to them, or another user or agent has stored the same bytes.
type RemovedArtifacts struct {
	Removed int `json:"removed"`
	Kept    int `json:"kept"`
}

// releaseLimit is the maximum number of holders that one transaction removes.
const releaseLimit = 100

// RemoveArtifact removes an artifact that the operation's principal stored. It returns ErrNotFound if the principal has
// stored no artifact under the address.
func (s *Pipeline) RemoveArtifact(ctx context.Context, op schema.Operation, address string,
	now time.Time) (RemovedArtifacts, error) {
	sum, err := artifactSum(address)
	if err != nil {
		return RemovedArtifacts{}, err
	}
	p := op.Principal
	out, err := s.release(ctx, op, now, `h.sha256 = @sum AND h.agent_id = @agent
		AND `+pg.OfUser("h.scope", "@grants"), pg.Args{"sum": sum, "agent": p.Agent, "grants": pg.ChangeGrants(p)})
	if err == nil && out.Removed+out.Kept == 0 {
		err = fmt.Errorf("artifact: %w", pg.ErrNotFound)
	}
	return out, err
}

// RemoveArtifactsOf removes all artifacts that the operation's user stored, through every agent.
func (s *Pipeline) RemoveArtifactsOf(ctx context.Context, op schema.Operation,
	now time.Time) (RemovedArtifacts, error) {
	return s.release(ctx, op.OfEveryAgent(), now, `h.scope = @scope`,
		pg.Args{"scope": schema.UserScope(op.Principal.User)})
}

// releasing is a removal of artifacts in several transactions.
type releasing struct {
	id       uuid.UUID
	op       schema.Operation
	now      time.Time
	holders  string // the condition of the holders to remove
	args     pg.Args
	released map[string]bool // several holders of an artifact may be in different batches
	removed  int
}

func (r *releasing) counts() RemovedArtifacts {
	return RemovedArtifacts{Removed: r.removed, Kept: len(r.released) - r.removed}
}

// release removes the holders of artifacts that meet a condition, and the artifacts that are left without a holder and
// without a memory.
func (s *Pipeline) release(ctx context.Context, op schema.Operation, now time.Time, holders string,
	args pg.Args) (RemovedArtifacts, error) {
	args["tenant"], args["limit"] = op.Principal.Tenant, releaseLimit
	r := releasing{id: pg.NewID(), op: op, now: now, holders: holders, args: args, released: map[string]bool{}}
	for {
		n, err := s.releaseBatch(ctx, &r)
		if err != nil || n < releaseLimit {
			return r.counts(), err
		}
	}
}

// releaseBatch removes at most releaseLimit holders, and returns how many.
func (s *Pipeline) releaseBatch(ctx context.Context, r *releasing) (n int, err error) {
	var after releasing
	err = pg.RetryChange(ctx, func() error { // a memory may refer to an artifact meanwhile
		return commit.Write(ctx, s.DB, r.op.Principal.Tenant, r.now, func(c *commit.Change) (err error) {
			if err = c.LockRemovedArtifacts(ctx); err != nil {
				return err
			}
			sums, err := commit.Values[[]byte](ctx, c.Tx, `
				DELETE FROM artifact_holders d
				USING (
					SELECT h.sha256, h.agent_id, h.scope
					FROM artifact_holders h
					WHERE h.tenant = @tenant AND `+r.holders+`
					ORDER BY h.sha256, h.agent_id, h.scope
					LIMIT @limit
					FOR UPDATE) x
				WHERE d.tenant = @tenant AND d.sha256 = x.sha256 AND d.agent_id = x.agent_id AND d.scope = x.scope
				RETURNING d.sha256`, r.args)
			if n = len(sums); err != nil || n == 0 {
				return err
			}
			tag, err := c.Tx.Exec(ctx, `
				DELETE FROM artifacts a
				WHERE a.tenant = @tenant AND a.sha256 = ANY(@sums::bytea[])
					AND NOT EXISTS (
						SELECT FROM memory_artifacts x
						WHERE x.tenant = @tenant AND x.sha256 = a.sha256)
					AND NOT EXISTS (
						SELECT FROM artifact_holders h
						WHERE h.tenant = @tenant AND h.sha256 = a.sha256)`, pg.Args{"tenant": c.Tenant, "sums": sums})
			if err != nil {
				return err
			}
			after = *r
			after.removed += int(tag.RowsAffected())
			after.released = maps.Clone(r.released)
			for _, sum := range sums {
				after.released[string(sum)] = true
			}
			counts := after.counts()
			c.RecordRemoval(r.id, schema.RemovedArtifacts, r.op, counts.Removed, counts.Kept)
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("remove artifacts: %w", err)
	}
	if n > 0 {
		*r = after
	}
	return n, nil
}

// artifactSum parses an address from a caller.
func artifactSum(address string) ([]byte, error) {
	sum, ok := commit.ParseAddress(address)
	if !ok {
		return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "address",
			Problem: "must be sha256: and 64 lower-case hexadecimal digits"}}}
	}
	return sum, nil
}

// abridge replaces each content that is stored as an artifact by its beginning and a reference to the artifact. It
// returns the whole texts by candidate. The caller's candidates do not change.
func (in *StageInput) abridge() map[int]wholeText {
	whole := map[int]wholeText{}
	if in.Request.Oversized != schema.OversizedArtifact {
		return whole
	}
	candidates := slices.Clone(in.Request.Candidates)
	for i, c := range candidates {
		if len(c.Content) > schema.MaxContentBytes {
			sum := sha256.Sum256([]byte(c.Content))
			whole[i] = wholeText{sum[:], c.Content}
			candidates[i] = intake.Abridge(c, schema.ArtifactPrefix+hex.EncodeToString(sum[:]))
		}
	}
	in.Request.Candidates = candidates
	return whole
}

// wholeText is the full text of a candidate that is stored as an artifact.
type wholeText struct {
	sum  []byte // SHA-256
	text string
}
