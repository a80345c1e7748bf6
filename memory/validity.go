package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/mneme/mneme/schema"
)

// ConditionsHash identifies the ground on which a semantic memory holds: equal grounds have equal
// hashes, whatever the order and spacing of their conditions. Global is the empty string.
func ConditionsHash(v schema.Validity) string {
	if v.Mode == "" || v.Mode == schema.ValidGlobal {
		return ""
	}
	ground := struct {
		Mode       schema.ValidityMode `json:"mode"`
		Conditions any                 `json:"conditions,omitempty"`
		Start      *time.Time          `json:"start,omitempty"`
		End        *time.Time          `json:"end,omitempty"`
	}{Mode: v.Mode, Start: utc(v.Start), End: utc(v.End)}
	if len(v.Conditions) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(v.Conditions))
		decoder.UseNumber()
		if err := decoder.Decode(&ground.Conditions); err != nil {
			ground.Conditions = string(v.Conditions) // unreachable for a validated record
		}
	}
	encoded, err := json.Marshal(ground) // maps are written in order of their keys
	if err != nil {
		encoded = v.Conditions
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
