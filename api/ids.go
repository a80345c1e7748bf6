package api

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// DecisionUpdateID returns the id of the update for a decision with an operation id. It contains a digest of the
// request: Temporal would answer a second update with the same id without showing it to the run.
func DecisionUpdateID(req schema.ReviewRequest) string {
	return boundedUpdateID(chosenDecision(req) + "/" + OperationDigest(&req))
}

// chosenDecision identifies a decision with an operation id.
func chosenDecision(req schema.ReviewRequest) string { return req.OperationID + "/" + req.ProposalID }

// DecisionKey returns the key under which a decision is stored. With an operation id it does not depend on the id of
// the update.
func DecisionKey(workflowID, updateID string, req schema.ReviewRequest) string {
	if req.OperationID != "" {
		updateID = boundedUpdateID(chosenDecision(req))
	}
	return decisionKey(workflowID, req.ProposalID, updateID)
}

func decisionKey(workflowID, proposalID, updateID string) string {
	return workflowID + "/" + proposalID + "/" + updateID
}

// EarlierDecisionKeys returns the keys under which earlier versions of the program stored a decision. They contain the
// id of its update.
func EarlierDecisionKeys(workflowID, updateID, batchID string, req schema.ReviewRequest) []string {
	tenant := req.Principal.Tenant
	plain := plainID(KindReview, idEscaper.Replace(tenant), batchID)
	updates := []string{updateID}
	if req.OperationID != "" {
		chosen := chosenDecision(req)
		updates = append(updates, boundedUpdateID(chosen), chosen)
	}
	var keys []string
	for _, form := range bothForms(workflowID, ReviewWorkflowID(tenant, batchID), plain) {
		for _, update := range updates {
			keys = append(keys, decisionKey(form, req.ProposalID, update))
		}
	}
	slices.Sort(keys)
	return without(slices.Compact(keys), DecisionKey(workflowID, updateID, req))
}

var (
	idEscaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	idUnescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// IngestWorkflowID returns the id of the run for a request.
//
// With an idempotency key, the id is derived from the agent, its user and the key, so that a second start finds the
// first run. Without a key, it is derived from the principal and the content, so that a repeated request joins the open
// run. Ids longer than MaxIDLength are hashed (boundedID).
func IngestWorkflowID(r schema.IngestRequest) string {
	key := contentKey(r)
	if r.IdempotencyKey != "" {
		key = r.IdempotencyKey
	}
	return principalID(KindIngest, r.Principal, key)
}

// principalID returns the id of a run of a principal: kind/tenant/agent/key. A digest of the user follows the agent.
// The name itself may be an address, and ids remain in lists, logs and histories after memories are erased. An escaped
// agent never contains %40.
func principalID(kind string, p schema.Principal, key string) string {
	return boundedID(kind, ownerOf(p), key)
}

// ownerOf returns the part of an id that identifies the owner of the run.
func ownerOf(p schema.Principal) string {
	owner := idEscaper.Replace(p.Tenant) + "/" + idEscaper.Replace(p.Agent)
	if p.User == "" {
		return owner
	}
	sum := sha256.Sum256([]byte(p.User))
	return owner + "%40" + hex.EncodeToString(sum[:16])
}

// WorkflowID joins the parts of an id. Different parts never give the same id, so a run that is joined by its id
// belongs to the same tenant and agent. The last part is not escaped.
func WorkflowID(kind string, parts ...string) string {
	last := len(parts) - 1
	escaped := make([]string, last)
	for i, part := range parts[:last] {
		escaped[i] = idEscaper.Replace(part)
	}
	return boundedID(kind, strings.Join(escaped, "/"), parts[last])
}

// MaxIDLength is the maximum length in bytes of a workflow id or an update id of Mneme. With an SQL database, Temporal
// stores at most 255 characters of a workflow id, and it appends the time to the ids of a schedule's runs.
const MaxIDLength = 200

// boundedID returns kind/owner/key or, if that is longer than MaxIDLength, kind/<32 digits of the owner's
// SHA-256>/<SHA-256 of the key>, both in hexadecimal. The owner may be empty.
func boundedID(kind, owner, key string) string {
	id := plainID(kind, owner, key)
	if len(id) <= MaxIDLength {
		return id
	}
	of, whole := sha256.Sum256([]byte(owner)), sha256.Sum256([]byte(key))
	return kind + "/" + hex.EncodeToString(of[:16]) + "/" + hex.EncodeToString(whole[:])
}

// plainID returns an id of any length, as in versions before MaxIDLength.
func plainID(kind, owner, key string) string {
	if owner == "" {
		return kind + "/" + key
	}
	return kind + "/" + owner + "/" + key
}

// bothForms returns an id in its current form and in the form of versions before MaxIDLength, if these differ and id is
// one of them. Otherwise it returns only id. This finds results of a request that were stored under either form.
func bothForms(id, bounded, plain string) []string {
	if bounded == plain || id != bounded && id != plain {
		return []string{id}
	}
	return []string{bounded, plain}
}

// boundedUpdateID returns the id, or its SHA-256 if it is longer than MaxIDLength.
func boundedUpdateID(id string) string {
	if len(id) <= MaxIDLength {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// TenantOfID returns the tenant in an id of a principal's run. Hashed ids, which have three parts instead of four or
// more, contain no tenant.
func TenantOfID(id string) (tenant string, ok bool) {
	parts := strings.SplitN(id, "/", 4)
	if len(parts) != 4 {
		return "", false
	}
	return idUnescaper.Replace(parts[1]), true
}

// contentKey returns a digest of everything in the request. Equal requests have equal keys.
func contentKey(r schema.IngestRequest) string {
	encoded, err := json.Marshal(r) // field order is fixed and there are no maps
	if err != nil {
		encoded = []byte(err.Error()) // unreachable for a decoded request
	}
	sum := sha256.Sum256(encoded)
	return "content-" + hex.EncodeToString(sum[:16])
}

// ContentDigest returns a digest of the contents of an ingest. With an idempotency key, a request with other contents
// is another request. Times and settings do not count, because a client may set them again for each delivery. It is the
// SHA-256, in hexadecimal, of all contents in order, each after its length in bytes as a big-endian number of 8 bytes.
func ContentDigest(r schema.IngestRequest) string {
	sum := sha256.New()
	var size [8]byte
	for i := range r.Candidates {
		content := r.Candidates[i].Content
		binary.BigEndian.PutUint64(size[:], uint64(len(content)))
		sum.Write(size[:])
		sum.Write([]byte(content))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// RecordDigest returns a digest of a session that is recorded as a whole, without the times of its events: a client may
// set them again for each delivery.
func RecordDigest(r RecordRequest) string {
	r.Events = slices.Clone(r.Events)
	for i := range r.Events {
		r.Events[i].OccurredAt = time.Time{}
	}
	return OperationDigest(&r)
}

// SentDigest returns the OperationDigest that the worker will compute for a request, given as a pointer. It differs
// from that of the request itself if decoding fills fields, as it does for records.
func SentDigest(request any) string {
	encoded, err := json.Marshal(request)
	if err != nil {
		return "" // unreachable for a valid request
	}
	return DigestOfType(reflect.TypeOf(request).Elem(), encoded)
}

// DigestOfType returns the OperationDigest of a request in JSON, of a request type.
func DigestOfType(request reflect.Type, encoded []byte) string {
	read := reflect.New(request).Interface()
	if json.Unmarshal(encoded, read) != nil {
		return "" // unreachable for JSON: requests record what they cannot decode
	}
	return OperationDigest(read)
}

// OperationDigest returns a digest of the request of an operation, given as a pointer, as the worker has decoded it.
// The versions of a revision's targets do not count: the command line sets them to the current ones for each delivery.
func OperationDigest(request any) string {
	if r, ok := request.(*schema.ReviseRequest); ok {
		unversioned := *r
		unversioned.Targets = slices.Clone(r.Targets)
		for i := range unversioned.Targets {
			unversioned.Targets[i].IfVersion = 0
		}
		request = &unversioned
	}
	encoded, err := json.Marshal(request)
	if err != nil {
		return "" // unreachable for a decoded request
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// ResumeWorkflowID returns the id of the run that replays a dead job.
func ResumeWorkflowID(tenant, jobID string) string { return WorkflowID("resume", tenant, jobID) }

// ReviewWorkflowID returns the id of the run in which the proposals of a batch wait for a decision.
func ReviewWorkflowID(tenant, batchID string) string { return WorkflowID(KindReview, tenant, batchID) }

// SyncIndexWorkflowID returns the id of the run that drains the outbox into an index.
func SyncIndexWorkflowID(index string) string { return "sync-index/" + index }

// RecallWorkflowID returns the id of the run that answers a request (principalID). The key is a digest of the whole
// request, so that a request joins the open run of an equal request.
func RecallWorkflowID(r schema.RecallRequest) string {
	return contentID(KindRecall, r.Principal, r)
}

// GetWorkflowID returns the id of the run that answers a request: see RecallWorkflowID.
func GetWorkflowID(r schema.GetRequest) string { return contentID(KindGet, r.Principal, r) }

// ContextWorkflowID returns the id of the run that answers a request: see RecallWorkflowID.
func ContextWorkflowID(r ledger.ContextRequest) string { return contentID(KindContext, r.Principal, r) }

// AdviseWorkflowID returns the id of the run that answers a request: see RecallWorkflowID.
func AdviseWorkflowID(r AdviseRequest) string { return contentID(KindAdvise, r.Principal, r) }

// ReportWorkflowID returns the id of the run for a report: report/TENANT/AGENT/ADVICE and a digest of the report. A
// repeated report joins the open run. If the run has ended, the report is not counted again.
func ReportWorkflowID(r ReportRequest) string { return contentID(KindReport, r.Principal, r) }

// SessionWorkflowID returns the id of the run of a session: session/TENANT/AGENT/SESSION.
func SessionWorkflowID(r SessionRef) string { return principalID(KindSession, r.Principal, r.Session) }

// RecordWorkflowID returns the id of the run that records a complete session: record/TENANT/AGENT/SESSION.
func RecordWorkflowID(r SessionRef) string { return principalID(KindRecord, r.Principal, r.Session) }

// RecordIDOf converts the workflow id of a session to the id of the run that records a complete session.
func RecordIDOf(sessionWorkflowID string) string {
	return KindRecord + strings.TrimPrefix(sessionWorkflowID, KindSession)
}

// EraseEventsWorkflowID returns the id of the run that erases events. It is the same for the same events.
func EraseEventsWorkflowID(r EraseEventsRequest) string {
	return contentID(KindErase, schema.Principal{Tenant: r.Tenant, Agent: "events"}, r)
}

// ReflectWorkflowID returns the id of the run in which an agent reflects on a stream; one runs at a time.
func ReflectWorkflowID(p schema.Principal, stream string) string {
	return principalID(KindReflect, p, stream)
}

// contentID returns the id of a run that only reads, with a digest of the whole request as its key.
func contentID(kind string, p schema.Principal, request any) string {
	encoded, err := json.Marshal(request)
	if err != nil {
		encoded = []byte(err.Error()) // unreachable for a decoded request
	}
	sum := sha256.Sum256(encoded)
	return principalID(kind, p, "content-"+hex.EncodeToString(sum[:16]))
}

// OperationWorkflowID returns the id of the run of an operation (principalID). The key is the operation id or, without
// one, a digest of the request.
func OperationWorkflowID(kind string, op schema.Operation, request any) string {
	key := op.OperationID
	if key == "" {
		encoded, err := json.Marshal(request)
		if err != nil {
			encoded = []byte(err.Error()) // unreachable for a decoded request
		}
		sum := sha256.Sum256(encoded)
		key = "content-" + hex.EncodeToString(sum[:16])
	}
	return KeyedWorkflowID(kind, op.Principal, key)
}

// KeyedWorkflowID is OperationWorkflowID for an operation with an operation id. A workflow may call it.
func KeyedWorkflowID(kind string, p schema.Principal, operationID string) string {
	return principalID(kind, p, operationID)
}

// DriftWorkflowID returns the id of the drift checks of operators and of the schedule. Temporal appends the time to the
// ids of scheduled runs, so these may overlap with a run of an operator. This is harmless, because repairs only write
// the contents of Postgres.
func DriftWorkflowID(index string) string { return WorkflowID("drift", index) }

// ReindexWorkflowID returns the id of the run that rebuilds an index. An index has one such run at a time.
func ReindexWorkflowID(index string) string { return WorkflowID("reindex", index) }

// DecaySweepID is the workflow id of a sweep of every tenant; schedules add their time to it.
const DecaySweepID = "decay-sweep"

// RetentionPurgeID is the workflow id of a purge of every tenant; schedules add their time to it.
const RetentionPurgeID = "retention-purge"

// EarlierOperationKeys returns the keys under which other versions of the program stored the operation with a key that
// the caller chose.
func EarlierOperationKeys(id, kind string, p schema.Principal, key string) []string {
	owner := ownerOf(p)
	return without(bothForms(id, boundedID(kind, owner, key), plainID(kind, owner, key)), id)
}

func without(keys []string, own string) (others []string) {
	for _, key := range keys {
		if key != own {
			others = append(others, key)
		}
	}
	return others
}

// RefreshTopicsID is the workflow id of a sweep over the topics of every tenant; schedules add their time to it.
const RefreshTopicsID = "refresh-topics"

// RefreshTopicWorkflowID returns the id of the run that refreshes a topic. A topic has one such run at a time.
func RefreshTopicWorkflowID(tenant, topic string) string { return WorkflowID("topic", tenant, topic) }
