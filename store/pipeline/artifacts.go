package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// MaxArtifactBytes is the size of one artifact: it goes through one statement.
const MaxArtifactBytes = 16 << 20

var (
	// ErrAddressMismatch means that the bytes are not those that their content address names.
	ErrAddressMismatch = errors.New("the content does not match its address")
	// ErrArtifactTooLarge means that an artifact has more than MaxArtifactBytes.
	ErrArtifactTooLarge = fmt.Errorf("an artifact has at most %d MiB", MaxArtifactBytes>>20)
)

// Artifact is a large thing that episodes refer to: a log, a screenshot, a file (document 004 §15.3). Its
// address is that of its content.
type Artifact struct {
	Address   string    `json:"address"` // sha256: and 64 hexadecimal digits
	MediaType string    `json:"media_type"`
	Size      int64     `json:"size"` // bytes
	CreatedAt time.Time `json:"created_at"`
}

// PutArtifact stores bytes under the address of their content and returns what is stored there. The same bytes again
// are stored once, with the media type and time of the first. When address is not empty it must be that of the bytes:
// ErrAddressMismatch otherwise. The database checks the address as well.
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
	err = pg.RetryChange(ctx, func() error { // the same bytes may be erased at the moment
		return commit.Write(ctx, s.DB, p.Tenant, now, func(c *commit.Change) error {
			return putArtifact(ctx, c, p,
				sum[:], data, mediaType, &out)
		})
	})
	if err != nil {
		return Artifact{}, fmt.Errorf("put artifact: %w", err)
	}
	return out, nil
}

func putArtifact(ctx context.Context, c *commit.Change, p schema.Principal, sum, data []byte, mediaType string,
	out *Artifact) error {
	if _, err := c.Tx.Exec(ctx, `INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`, c.Tenant, sum, mediaType, len(data), data, p.Agent,
		c.Now); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(ctx, `INSERT INTO artifact_holders (tenant, sha256, agent_id, scope) VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`,
		c.Tenant, sum, p.Agent, pg.UserScope(p)); err != nil {
		return err
	}
	return c.Tx.QueryRow(ctx, `SELECT media_type, size, created_at FROM artifacts WHERE tenant = $1 AND sha256 = $2`,
		c.Tenant, sum).
		Scan(&out.MediaType, &out.Size, &out.CreatedAt)
}

// GetArtifact returns the bytes at an address to a principal that brought them or may read a memory that refers to
// them. For anyone else it is ErrNotFound, as for an address with nothing there.
func (s *Pipeline) GetArtifact(ctx context.Context, p schema.Principal, address string) (Artifact, []byte, error) {
	sum, err := artifactSum(address)
	if err != nil {
		return Artifact{}, nil, err
	}
	out := Artifact{Address: address}
	var data []byte
	err = s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT a.media_type, a.size, a.created_at, a.content FROM artifacts a
			WHERE a.tenant = $1 AND a.sha256 = $2 AND `+commit.MaySeeArtifact,
			p.Tenant, sum, p.Agent, p.Project, pg.ReadGrants(p)).Scan(&out.MediaType, &out.Size, &out.CreatedAt, &data)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Artifact{}, nil, fmt.Errorf("artifact: %w", pg.ErrNotFound)
	}
	if err != nil {
		return Artifact{}, nil, fmt.Errorf("read artifact: %w", err)
	}
	return out, data, nil
}

// artifactSum reads an address that a caller gave.
func artifactSum(address string) ([]byte, error) {
	sum, ok := commit.ParseAddress(address)
	if !ok {
		return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "address",
			Problem: "must be sha256: and 64 lower-case hexadecimal digits"}}}
	}
	return sum, nil
}
