package lifecycle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// ConfirmThreshold is the greatest number of named memories that can be softly forgotten without a confirmation
// (document 002 "Forget": beyond the threshold the token must be echoed back).
const ConfirmThreshold = 25

// NeedsConfirmation reports whether a forget that has selected total memories must be confirmed: if it cannot be
// undone, if the memories were found by a search and not named, or if there are many.
func NeedsConfirmation(r schema.ForgetRequest, total int) bool {
	return r.HowMuch() != schema.ForgetSoft || !r.Selector.Named() || total > ConfirmThreshold
}

// Outcomes of one selected memory. Only forgotten changes it.
const (
	OutcomeForgotten       = "forgotten"
	OutcomeNotFound        = "not_found"
	OutcomeVersionConflict = "version_conflict" // it has changed since it was selected
	OutcomeDeleted         = "deleted"          // it is already forgotten
	OutcomePinned          = "pinned"           // pinned memories need force
	OutcomeErased          = "erased"           // there is nothing left to remove
	OutcomeNotOwner        = "not_owner"        // only the agent that it belongs to may destroy it
	OutcomeWorld           = "world"            // rows of a world stay: erase removes their content
	OutcomeActionLinked    = "action_linked"    // rows that an action is linked to also stay
)

// Forgettable is the current state of a selected memory.
type Forgettable struct {
	Version                 int
	Pinned, Deleted, Erased bool
	Foreign                 bool // it belongs to another agent, which shares it
	World                   bool // it has a world_id
	ActionLinked            bool // it is at an end of one of ActionLinks
}

// TakesOthers reports whether a mode applies to memories that another agent shares. Everyone who sees a shared memory
// may forget it softly, because that can be undone. Modes that cannot be undone apply only to the agent's own
// memories.
func TakesOthers(mode schema.ForgetMode) bool { return mode == schema.ForgetSoft }

// DeletesRows reports whether a mode deletes rows. Such a mode does not change rows that must stay for audit
// (document 003 D10): memories of a world, and memories that an action is linked to.
func DeletesRows(mode schema.ForgetMode) bool { return mode == schema.ForgetForce }

// ForgetOutcome returns the outcome for a memory that was selected at a version. A later version is a conflict in every
// mode, because the confirmation was for another text.
func ForgetOutcome(mode schema.ForgetMode, selected int, m Forgettable) string {
	soft := mode == schema.ForgetSoft
	switch {
	case m.Foreign && !TakesOthers(mode):
		return OutcomeNotOwner
	case m.World && DeletesRows(mode):
		return OutcomeWorld
	case m.ActionLinked && DeletesRows(mode):
		return OutcomeActionLinked
	case m.Erased && mode != schema.ForgetForce:
		return OutcomeErased
	case m.Deleted && soft:
		return OutcomeDeleted
	case m.Version != selected:
		return OutcomeVersionConflict
	case m.Pinned && soft:
		return OutcomePinned
	}
	return OutcomeForgotten
}

// ForgetCounts are the counts of the selected memories in a preview. One memory may count in all of them.
type ForgetCounts struct {
	Pinned   int // pinned memories, in every mode; soft skips them
	NotOwner int // of another agent, if the mode does not change those
	MustStay int // memories whose rows must stay for audit, if the mode deletes rows
}

// Add counts n selected memories in the same state, by the conditions that ForgetOutcome uses.
func (c *ForgetCounts) Add(mode schema.ForgetMode, m Forgettable, n int) {
	if m.Pinned {
		c.Pinned += n
	}
	if m.Foreign && !TakesOthers(mode) {
		c.NotOwner += n
	}
	if (m.World || m.ActionLinked) && DeletesRows(mode) {
		c.MustStay += n
	}
}

// ForgetSubject has the values to which a confirmation token is bound, besides its expiry.
type ForgetSubject struct {
	Tenant string
	RunID  uuid.UUID
	Mode   schema.ForgetMode
	Digest []byte // ForgetDigest of the selected rows
}

// SelectedRow is a memory with the version at which it was selected.
type SelectedRow struct {
	ID      uuid.UUID
	Version int32
}

// ForgetDigest returns the SHA-256 of the rows in order, each with 16 bytes of id and 4 of version, so that different
// lists have different encodings. Postgres computes the digest of a selection itself; tests compare it with this one.
func ForgetDigest(rows []SelectedRow) []byte {
	h := sha256.New()
	for _, r := range rows {
		h.Write(r.ID[:])
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(r.Version)))
	}
	return h.Sum(nil)
}

// The token's form: a prefix, and base64url of eight bytes of expiry (Unix seconds) before the MAC.
const (
	tokenPrefix = "fgt1."
	tokenBytes  = 8 + sha256.Size
)

var tokenLength = len(tokenPrefix) + base64.RawURLEncoding.EncodedLen(tokenBytes)

// ConfirmToken returns the token that confirms a run until expires. The key must be secret, because everyone who has it
// can confirm.
func ConfirmToken(key []byte, s ForgetSubject, expires time.Time) string {
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, tokenBytes), uint64(expires.Unix()))
	raw = append(raw, s.mac(key, raw)...)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// VerifyToken checks a token for a subject. It checks the MAC first, in constant time, so that the error reveals
// nothing about a forged token, not even that it has expired.
func VerifyToken(key []byte, s ForgetSubject, token string, now time.Time) error {
	encoded, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok || len(token) != tokenLength { // the length, because the decoder skips line breaks
		return schema.ErrTokenMalformed
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(raw) != tokenBytes {
		return schema.ErrTokenMalformed // not wrapped: the decoder's error quotes the text
	}
	expiry, mac := raw[:8], raw[8:]
	if !hmac.Equal(mac, s.mac(key, expiry)) {
		return schema.ErrTokenOther
	}
	if now.Unix() >= int64(binary.BigEndian.Uint64(expiry)) {
		return schema.ErrTokenExpired
	}
	return nil
}

// mac returns the HMAC-SHA256 of the subject's parts, each preceded by its length.
func (s ForgetSubject) mac(key, expiry []byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range [][]byte{[]byte("mneme.forget"), []byte(s.Tenant), s.RunID[:], []byte(s.Mode), expiry,
		s.Digest} {
		normalize.WritePart(h, part)
	}
	return h.Sum(nil)
}
