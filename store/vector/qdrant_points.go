package vector

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Payload keys of a point.
const (
	keyTenant      = "tenant"
	keyMemory      = "memory_id"
	keyVersion     = "version"
	keyAgent       = "agent"
	keyProject     = "project"
	keyScope       = "scope"
	keyVisibility  = "visibility"
	keyGroup       = "policy_group"
	keyType        = "type"
	keyCategory    = "category"
	keyTier        = "tier"
	keyTypology    = "typology"
	keyTags        = "tags"
	keyWho         = "who"
	keyPinned      = "pinned"
	keyImportance  = "importance"
	keySensitivity = "sensitivity"
	keyOccurred    = "occurred_at" // microseconds since 1970, the precision of Postgres; exact as a double
	keyValidFrom   = "valid_from"  // likewise; absent if it is open
	keyValidUntil  = "valid_until"
)

// pointSpace is the name space of point ids.
var pointSpace = uuid.MustParse("5e0d6ab8-7c0f-4f0e-9d8a-3b1c2f7e6a90")

// pointID derives a point's id from tenant and memory. The memory's id alone is not enough: two tenants may import
// the same record, and one point would overwrite the other.
func pointID(tenant string, memory uuid.UUID) *qd.PointId {
	return qd.NewIDUUID(uuid.NewSHA1(pointSpace, append(memory[:], tenant...)).String())
}

// vectorName returns the name of a generation's vector. It identifies the embedding space, so that a search for
// another space's vector is an error instead of a wrong result.
func vectorName(m inference.EmbeddingModel) string {
	return slug(m.Name) + "-" + strconv.Itoa(m.Dimensions)
}

func pointStruct(tenant string, g Generation, p Point) *qd.PointStruct {
	payload := map[string]*qd.Value{
		keyTenant: qd.NewValueString(tenant), keyMemory: qd.NewValueString(p.MemoryID.String()),
		keyVersion: qd.NewValueInt(int64(p.Version)),
		keyAgent:   qd.NewValueString(p.Agent), keyProject: qd.NewValueString(p.Project),
		keyScope:      qd.NewValueString(p.Scope),
		keyVisibility: qd.NewValueString(string(p.Visibility)), keyGroup: qd.NewValueString(p.PolicyGroup),
		keyType: qd.NewValueString(string(p.Type)), keyCategory: qd.NewValueString(string(p.Category)),
		keyTier: qd.NewValueString(string(p.Tier)), keyTypology: qd.NewValueString(string(p.Typology)),
		keyTags: qd.NewValueFromList(stringValues(p.Tags)...), keyWho: qd.NewValueString(p.Who),
		keyPinned: qd.NewValueBool(p.Pinned), keyImportance: qd.NewValueDouble(p.Importance),
		keySensitivity: qd.NewValueString(string(p.Sensitivity)),
		keyOccurred:    qd.NewValueInt(p.OccurredAt.UnixMicro()),
	}
	if p.ValidFrom != nil {
		payload[keyValidFrom] = qd.NewValueInt(p.ValidFrom.UnixMicro())
	}
	if p.ValidUntil != nil {
		payload[keyValidUntil] = qd.NewValueInt(p.ValidUntil.UnixMicro())
	}
	return &qd.PointStruct{Id: pointID(tenant, p.MemoryID), Payload: payload,
		Vectors: qd.NewVectorsMap(map[string]*qd.Vector{vectorName(g.Model): qd.NewVectorDense(p.Vector)})}
}

func stringValues(list []string) []*qd.Value {
	out := make([]*qd.Value, len(list))
	for i, s := range list {
		out[i] = qd.NewValueString(s)
	}
	return out
}

// refOf reads the reference of a point from its payload.
func refOf(payload map[string]*qd.Value) (Ref, bool) {
	id, err := uuid.Parse(payload[keyMemory].GetStringValue())
	tenant := payload[keyTenant].GetStringValue()
	return Ref{Tenant: tenant, MemoryID: id, Version: int(payload[keyVersion].GetIntegerValue())}, err == nil &&
		tenant != ""
}

func ofTenant(tenant string) *qd.Filter {
	return &qd.Filter{Must: []*qd.Condition{qd.NewMatchKeyword(keyTenant, tenant)}}
}

// pushedFilter renders pg.Filter as far as a payload can express it. It may admit more than the filter, never less:
// Postgres checks every id afterwards. It leaves out conditions of validity, which are JSON; validity if the
// question names its own times; and names that are not plain ASCII, which Go and Postgres may fold differently. It
// compares the stored importance, which may have faded since. All points are live.
func pushedFilter(f pg.Filter) *qd.Filter {
	pr := f.Principal
	must := []*qd.Condition{qd.NewMatchKeyword(keyTenant, pr.Tenant)}
	own := qd.NewMatchKeyword(keyAgent, pr.Agent)
	switch f.ReadPolicy {
	case schema.ReadShared, schema.ReadGroup:
		should := []*qd.Condition{own, visibleTo(schema.VisibilityGlobal, "", ""), visibleTo(schema.VisibilityShared,
			keyProject, pr.Project)}
		if pr.PolicyGroup != "" {
			should = append(should, visibleTo(schema.VisibilityGroup, keyGroup, pr.PolicyGroup))
		}
		must = append(must, qd.NewFilterAsCondition(&qd.Filter{Should: should}))
	default:
		must = append(must, own)
	}
	if pr.Project != "" {
		must = append(must, qd.NewMatchKeyword(keyProject, pr.Project))
	}
	must = append(must, anyOf(keyScope, f.InScopes()))
	must = append(must, anyOf(keySensitivity, cmp.Or(f.MaxSensitivity, sensitive.DefaultLimit).AtMost()))
	if len(f.Types) > 0 {
		must = append(must, anyOf(keyType, f.Types))
	}
	if len(f.Categories) > 0 {
		must = append(must, anyOf(keyCategory, f.Categories))
	}
	for _, tag := range f.Tags {
		must = append(must, qd.NewMatchKeyword(keyTags, tag))
	}
	if f.Who != "" && isASCII(f.Who) {
		must = append(must, qd.NewMatchKeyword(keyWho, strings.ToLower(f.Who)))
	}
	if f.Pinned != nil {
		must = append(must, qd.NewMatchBool(keyPinned, *f.Pinned))
	}
	if f.ImportanceMin > 0 {
		must = append(must, qd.NewRange(keyImportance, &qd.Range{Gte: new(f.ImportanceMin)}))
	}
	if f.Since != nil {
		must = append(must, qd.NewRange(keyOccurred, &qd.Range{Gte: new(float64(f.Since.UnixMicro()))}))
	}
	if f.Until != nil {
		must = append(must, qd.NewRange(keyOccurred, &qd.Range{Lt: new(float64(f.Until.UnixMicro()))}))
	}
	if !f.At.IsZero() && len(f.During) == 0 {
		at := float64(f.At.UnixMicro())
		must = append(must, openOr(keyValidFrom, &qd.Range{Lte: &at}), openOr(keyValidUntil, &qd.Range{Gt: &at}))
	}
	return &qd.Filter{Must: must}
}

// visibleTo admits points with a visibility and, if a key is given, with the value for that key.
func visibleTo(v schema.Visibility, key, value string) *qd.Condition {
	must := []*qd.Condition{qd.NewMatchKeyword(keyVisibility, string(v))}
	if key != "" {
		must = append(must, qd.NewMatchKeyword(key, value))
	}
	return qd.NewFilterAsCondition(&qd.Filter{Must: must})
}

// openOr admits points without the key, and those in the range.
func openOr(key string, r *qd.Range) *qd.Condition {
	return qd.NewFilterAsCondition(&qd.Filter{Should: []*qd.Condition{qd.NewIsEmpty(key), qd.NewRange(key, r)}})
}

func anyOf[T ~string](key string, values []T) *qd.Condition {
	keywords := make([]string, len(values))
	for i, v := range values {
		keywords[i] = string(v)
	}
	return qd.NewMatchKeywords(key, keywords...)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
