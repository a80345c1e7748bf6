// Package workflows holds the durable orchestration: order, retries and waiting. One file a phase,
// request and result types beside it. Rules are package memory's, side effects package activities'.
package workflows

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

// TaskQueue is the queue that the worker listens on, unless it is configured otherwise.
const TaskQueue = "mneme"

// Names of updates and queries.
const (
	UpdateStaged  = "staged"   // Ingest: waits for the staging and returns schema.IngestAck
	UpdateDecide  = "decide"   // Review: schema.ReviewRequest to schema.ReviewResult
	QueryProgress = "progress" // Ingest, ResumeIngest: Progress; Forget: schema.ForgetReceipt so far; Reindex: ReindexProgress; DriftCheck: DriftResult; SyncIndex: SyncIndexProgress; Review: ReviewProgress; sweeps: SweepResult

	UpdateSelected = "selected" // Forget: waits for the selection and returns schema.ForgetPreview
	UpdateConfirm  = "confirm"  // Forget: takes schema.ForgetConfirmation, returns schema.ForgetApproval
	SignalConfirm  = "confirm"  // Forget: the same, without an answer
	QueryPreview   = "preview"  // Forget: schema.ForgetPreview

	QueryRecord = "record" // Get: takes an id, returns the schema.MemoryRecord that the run has read
)

// The Nexus service, its operations, and the endpoint that `mneme nexus apply` creates unless another name
// is given.
const (
	NexusEndpoint     = "mneme"
	NexusService      = "mneme"
	OperationRemember = "remember" // schema.IngestRequest to IngestResult
	OperationRecall   = "recall"   // schema.RecallRequest to schema.RecallResponse
	OperationGet      = "get"      // schema.GetRequest to schema.GetResponse
	OperationForget   = "forget"   // schema.ForgetRequest to schema.ForgetReceipt
	OperationFeedback = "feedback" // schema.FeedbackRequest to schema.FeedbackResult
)

// Search attributes, all of type Keyword. The program registers them (RegisterSearchAttributes).
var (
	AttrTenant  = temporal.NewSearchAttributeKeyKeyword(activities.TenantAttribute)
	AttrAgent   = temporal.NewSearchAttributeKeyKeyword("MnemeAgent")
	AttrProject = temporal.NewSearchAttributeKeyKeyword("MnemeProject")
	AttrPhase   = temporal.NewSearchAttributeKeyKeyword("MnemePhase")
	AttrOutcome = temporal.NewSearchAttributeKeyKeyword("MnemeOutcome")
)

// Phases of an ingest run, as AttrPhase, Progress and the jobs table name them.
const (
	PhaseStage   = "stage"
	PhaseExtract = "extract"
	PhaseDecide  = "decide"
	PhaseWrite   = "write"
	PhaseLink    = "link"
	PhaseIndex   = "index"
	PhaseReview  = "review" // of Review
	PhaseDone    = "done"
	PhaseSelect  = "select"  // Forget
	PhaseConfirm = "confirm" // Forget: it waits
	PhaseForget  = "forget"
	PhaseRecall  = "recall" // Recall
)

// Outcomes of an ingest run, as AttrOutcome names them.
const (
	OutcomeOK     = "ok"
	OutcomeDead   = "dead_jobs" // some candidates could not be processed
	OutcomeFailed = "failed"
)

// OutcomeDegraded is the outcome of a recall that left channels or stages out; its other two are OutcomeOK
// and OutcomeFailed.
const OutcomeDegraded = "degraded"

// Outcomes of a review.
const (
	OutcomeReviewed = "reviewed" // people decided all of it
	OutcomeExpired  = "expired"  // some proposals were given up
)

// IngestWorkflowID is the id of the run that takes a request.
//
// With an idempotency key the id is the agent's and the key's, and a second start finds the first:
// two agents of a tenant that hit on one key have two runs, and so have two users of an agent. Without a
// key it is derived from who asks and from the content, so that a request delivered again while its run
// goes on joins that run. An id that would be longer than MaxIDLength is hashed (boundedID).
func IngestWorkflowID(r schema.IngestRequest) string {
	key := contentKey(r)
	if r.IdempotencyKey != "" {
		key = r.IdempotencyKey
	}
	return principalID(KindIngest, r.Principal, key)
}

// principalID is the id of a run of a principal: kind/tenant/agent/key. A user is a digest after its agent:
// the name may be an address, and ids stay in lists, logs and history when the memories are erased. %40 is
// no part of an escaped agent.
func principalID(kind string, p schema.Principal, key string) string {
	return boundedID(kind, ownerOf(p), key)
}

// ownerOf is the part of an id that says whose the run is.
func ownerOf(p schema.Principal) string {
	owner := idEscaper.Replace(p.Tenant) + "/" + idEscaper.Replace(p.Agent)
	if p.User == "" {
		return owner
	}
	sum := sha256.Sum256([]byte(p.User))
	return owner + "%40" + hex.EncodeToString(sum[:16])
}

// workflowID joins the parts of an id. No other parts give the same id, whatever is in them: a run that
// is joined by its id is that of the same tenant and agent. The last part is left as it is.
func workflowID(kind string, parts ...string) string {
	last := len(parts) - 1
	escaped := make([]string, last)
	for i, part := range parts[:last] {
		escaped[i] = idEscaper.Replace(part)
	}
	return boundedID(kind, strings.Join(escaped, "/"), parts[last])
}

// MaxIDLength is how many bytes a workflow id or an update id of Mneme has at most. Temporal keeps workflow ids in
// 255 characters where its persistence is SQL, and appends the time to those of a schedule's runs.
const MaxIDLength = 200

// boundedID is kind/owner/key or, where that is longer than MaxIDLength, kind/<32 digits of the owner's
// SHA-256>/<SHA-256 of the key>, both in hexadecimal. The owner may be empty.
func boundedID(kind, owner, key string) string {
	id := plainID(kind, owner, key)
	if len(id) <= MaxIDLength {
		return id
	}
	of, whole := sha256.Sum256([]byte(owner)), sha256.Sum256([]byte(key))
	return kind + "/" + hex.EncodeToString(of[:16]) + "/" + hex.EncodeToString(whole[:])
}

// plainID is an id as versions before MaxIDLength made it, whatever its length.
func plainID(kind, owner, key string) string {
	if owner == "" {
		return kind + "/" + key
	}
	return kind + "/" + owner + "/" + key
}

// bothForms are an id as it is now and as versions before MaxIDLength made it, where these differ and the run has one
// of them; else the run's id alone. A request that was carried out under one is known under both.
func bothForms(id, bounded, plain string) []string {
	if bounded == plain || id != bounded && id != plain {
		return []string{id}
	}
	return []string{bounded, plain}
}

// boundedUpdateID is the id, or its SHA-256 where it is longer than MaxIDLength.
func boundedUpdateID(id string) string {
	if len(id) <= MaxIDLength {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// tenantOfID is the tenant that an id of a principal's run names. A hashed id names none: such an id has
// three parts, and others have four or more.
func tenantOfID(id string) (tenant string, ok bool) {
	parts := strings.SplitN(id, "/", 4)
	if len(parts) != 4 {
		return "", false
	}
	return idUnescaper.Replace(parts[1]), true
}

var (
	idEscaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	idUnescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// contentKey is a digest of everything in the request. Equal requests have equal keys.
func contentKey(r schema.IngestRequest) string {
	encoded, err := json.Marshal(r) // field order is fixed and there are no maps
	if err != nil {
		encoded = []byte(err.Error()) // unreachable for a decoded request
	}
	sum := sha256.Sum256(encoded)
	return "content-" + hex.EncodeToString(sum[:16])
}

// ResumeWorkflowID is the id of the run that replays a dead job.
func ResumeWorkflowID(tenant, jobID string) string { return workflowID("resume", tenant, jobID) }

// ReviewWorkflowID is the id of the run in which the proposals of a batch wait for a decision.
func ReviewWorkflowID(tenant, batchID string) string { return workflowID(KindReview, tenant, batchID) }

// SyncIndexWorkflowID is the id of the run that drains the outbox into an index.
func SyncIndexWorkflowID(index string) string { return "sync-index/" + index }
