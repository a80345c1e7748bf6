package schema

// Requests that change what is known directly, and their results. Each is the one input of a workflow;
// its operation id makes delivery idempotent: the same id always answers with the first result.

// Limits of the operations.
const (
	MaxPutRecords      = 100   // records in one put
	MaxPatches         = 200   // patches in one modify (document 002 "Modify")
	MaxRevisionTargets = 50    // targets of one revision
	MaxForgetIDs       = 1_000 // ids named in one forget; a query or a filter may select more
	MaxForgetSelected  = 200_000
	MaxRecoverIDs      = 200
	MaxReasonLength    = 1_000     // characters
	MaxPayloadBytes    = 320 << 10 // of names and values, escapes aside: room for a statement of MaxContentBytes
	MaxPayloadDepth    = 32
	MaxPayloadItems    = 10_000 // elements of any one array, members of any one object
)

// Operation is what every such request carries.
type Operation struct {
	Principal   Principal `json:"principal"`
	OperationID string    `json:"operation_id,omitempty"` // once only; without one, the same request joins a run that is under way, and is a new operation after it
	Actor       string    `json:"actor,omitempty"`        // who history names; default agent:<agent>
	Reason      string    `json:"reason,omitempty"`       // required by all but put and feedback
}

// validate checks what all operations have in common.
func (o *Operation) validate(p *problems) {
	o.Principal.validate(p, "principal.")
	checkText(p, "operation_id", o.OperationID, MaxIdempotencySize)
	checkText(p, "actor", o.Actor, MaxNameLength)
	checkText(p, "reason", o.Reason, MaxReasonLength)
}

// requireReason adds a problem when no reason is given.
func (o *Operation) requireReason(p *problems) {
	if isBlank(o.Reason) {
		p.add("reason", "is required")
	}
}

// By is whom history names.
func (o *Operation) By() string {
	if o.Actor != "" {
		return o.Actor
	}
	return "agent:" + o.Principal.Agent
}

// OperationRef names a request that a workflow has taken in: all that travels through its history from then on
// (claim check).
type OperationRef struct {
	Tenant     string `json:"tenant"`
	ID         string `json:"id"`          // key of the staged body and of the result
	WorkflowID string `json:"workflow_id"` // for history: erasing finds the runs that carried a text

	// Others are the keys that the same operation has in other versions of the program. What was carried out under
	// one of them is answered with that result.
	Others []string `json:"others,omitempty"`
}

// Keys returns the keys of the operation in all versions of the program, the current one first.
func (r OperationRef) Keys() []string { return append([]string{r.ID}, r.Others...) }
