package schema

import "fmt"

// MaxGetIDs is how many records one request reads by id.
const MaxGetIDs = 50

// GetRequest reads records by id, as far as the asker may see them: what a client needs that cannot reach
// Postgres and has an id from a recall, a put or a notification.
type GetRequest struct {
	Principal      Principal     `json:"principal"`
	ReadPolicy     ReadPolicy    `json:"read_policy,omitempty"` // default isolated
	IDs            []string      `json:"ids"`                   // 1 to MaxGetIDs
	Superseded     bool          `json:"superseded,omitempty"`  // what was superseded, too
	MaxSensitivity Sensitivity   `json:"max_sensitivity,omitempty"`
	Trust          *TrustContext `json:"trust,omitempty"` // nil claims nothing

	decoded Decoded
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *GetRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // the rest is what is left when that is missing
		return err
	}
	var p problems
	r.Principal.validate(&p, "principal.")
	if r.ReadPolicy != "" && !r.ReadPolicy.Valid() {
		p.add("read_policy", "must be one of %s", names(readPolicies))
	}
	if r.ReadPolicy == ReadGroup && r.Principal.PolicyGroup == "" {
		p.add("principal.policy_group", "is required when read_policy is group")
	}
	switch n := len(r.IDs); {
	case n == 0:
		p.add("ids", "is empty")
	case n > MaxGetIDs:
		p.add("ids", "must hold at most %d ids, got %d", MaxGetIDs, n)
	}
	for i, id := range r.IDs[:min(len(r.IDs), MaxGetIDs)] {
		if !isUUID(id) {
			p.add(fmt.Sprintf("ids[%d]", i), "must be a UUID")
		}
	}
	if r.MaxSensitivity != "" && !r.MaxSensitivity.Valid() {
		p.add("max_sensitivity", "must be one of %s", names(sensitivities))
	}
	r.Trust.validate(&p, "trust.")
	return p.err()
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *GetRequest) UnmarshalJSON(data []byte) error {
	type plain GetRequest
	r.decoded = DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread reads the request as earlier versions did: see Decoded.
func (r *GetRequest) DropUnread() bool { return r.decoded.DropUnread() }

// GetResponse is what was read.
type GetResponse struct {
	Records []MemoryRecord `json:"records"` // in the order of the request
	// Missing are the ids of which nothing may be shown. Whether there is such a record is not told.
	Missing []string `json:"missing"`
	// LeftOut are the ids of records for which the answer had no room: ask for them again, alone.
	LeftOut []string `json:"left_out,omitempty"`

	Trust *TrustMeta `json:"trust,omitempty"` // what the trust context came to
}
