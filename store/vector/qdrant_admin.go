package vector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	qd "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store/vectorindex"
)

// slug converts a model's name into a valid name for collections and vectors. A digest distinguishes models whose
// names differ only in replaced characters.
func slug(name string) string {
	var b strings.Builder
	plain := true
	for _, r := range name {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' ||
			r == '.') {
			b.WriteRune(r)
			continue
		}
		plain = false
		b.WriteByte('_')
	}
	if plain && b.Len() <= 64 {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	kept := b.String()
	return kept[:min(len(kept), 64)] + "-" + hex.EncodeToString(sum[:4])
}

// collection returns the name of a generation's collection.
func (q *Qdrant) collection(g Generation) string { return q.prefix + "-" + g.ID.String() }

// alias returns the name under which a model's active generation is searched. It contains the model, so that a query
// embedded for the previous generation still finds that one while the next generation becomes active.
func (q *Qdrant) alias(m inference.EmbeddingModel) string {
	return q.prefix + "-" + vectorName(m) + "-active"
}

type payloadIndex struct {
	key  string
	kind qd.FieldType
}

// eventIndexes are the payload keys that filters of events use.
var eventIndexes = []payloadIndex{{keyTenant, qd.FieldType_FieldTypeKeyword}}

// payloadIndexes are the payload keys that filters use, with the type of each index.
var payloadIndexes = []payloadIndex{
	{keyTenant, qd.FieldType_FieldTypeKeyword},
	{keyAgent, qd.FieldType_FieldTypeKeyword},
	{keyProject, qd.FieldType_FieldTypeKeyword},
	{keyScope, qd.FieldType_FieldTypeKeyword},
	{keyVisibility, qd.FieldType_FieldTypeKeyword},
	{keyGroup, qd.FieldType_FieldTypeKeyword},
	{keyType, qd.FieldType_FieldTypeKeyword},
	{keyCategory, qd.FieldType_FieldTypeKeyword},
	{keyTags, qd.FieldType_FieldTypeKeyword},
	{keyWho, qd.FieldType_FieldTypeKeyword},
	{keySensitivity, qd.FieldType_FieldTypeKeyword},
	{keyPinned, qd.FieldType_FieldTypeBool},
	{keyImportance, qd.FieldType_FieldTypeFloat},
	{keyVersion, qd.FieldType_FieldTypeInteger},
	{keyOccurred, qd.FieldType_FieldTypeInteger},
	{keyValidFrom, qd.FieldType_FieldTypeInteger},
	{keyValidUntil, qd.FieldType_FieldTypeInteger},
}

// Create implements Index. It builds one graph for each tenant (payload_m without m). Every search names its tenant;
// in a graph over all tenants, a search for a small tenant would visit many points without a match.
func (q *Qdrant) Create(ctx context.Context, g Generation) error {
	if err := q.create(ctx, q.collection(g), g.Model, payloadIndexes); err != nil {
		return err
	}
	if g.State == vectorindex.GenerationActive {
		return q.Activate(ctx, g)
	}
	return nil
}

// create creates a collection for a model's vectors, with its payload indexes. It does not change an existing
// collection.
func (q *Qdrant) create(ctx context.Context, name string, m inference.EmbeddingModel, indexes []payloadIndex) error {
	ctx, cancel := context.WithTimeout(ctx, qdrantAdminTimeout)
	defer cancel()
	exists, err := q.exists(ctx, name)
	if err != nil {
		return err
	}
	if !exists {
		_, err := q.client.Collections().Create(ctx, &qd.CreateCollection{
			CollectionName: name,
			HnswConfig:     &qd.HnswConfigDiff{M: new(uint64(0)), PayloadM: new(uint64(16))},
			VectorsConfig: qd.NewVectorsConfigMap(map[string]*qd.VectorParams{
				vectorName(m): {Size: uint64(m.Dimensions), Distance: qd.Distance_Cosine},
			}),
			Timeout: serverTimeout(ctx),
		})
		if err != nil {
			// Another worker may have created it.
			if created, existsErr := q.exists(ctx, name); existsErr != nil || !created {
				return qdrantError(ctx, "create collection", err)
			}
		}
	}
	for _, index := range indexes {
		req := &qd.CreateFieldIndexCollection{CollectionName: name, FieldName: index.key, FieldType: &index.kind,
			Wait: new(true), Timeout: serverTimeout(ctx)}
		if index.key == keyTenant {
			req.FieldIndexParams = qd.NewPayloadIndexParamsKeyword(&qd.KeywordIndexParams{IsTenant: new(true)})
		}
		res, err := q.client.Points().CreateFieldIndex(ctx, req)
		if err := updated(ctx, "index payload", res, err); err != nil {
			return err
		}
	}
	return nil
}

func (q *Qdrant) exists(ctx context.Context, collection string) (bool, error) {
	res, err := q.client.Collections().CollectionExists(ctx, &qd.CollectionExistsRequest{CollectionName: collection})
	if err != nil {
		return false, qdrantError(ctx, "look for collection", err)
	}
	return res.GetResult().GetExists(), nil
}

// Searched implements Index.
func (q *Qdrant) Searched(ctx context.Context, g Generation) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	named, err := q.named(ctx, q.alias(g.Model))
	if err != nil {
		return false, err
	}
	if named == "" {
		return false, fmt.Errorf("look for alias: %w", ErrMissing)
	}
	return named == q.collection(g), nil
}

// named returns the collection of an alias, or "" if there is no such alias.
func (q *Qdrant) named(ctx context.Context, alias string) (string, error) {
	listed, err := q.client.Collections().ListAliases(ctx, &qd.ListAliasesRequest{})
	if err != nil {
		return "", qdrantError(ctx, "list aliases", err)
	}
	for _, a := range listed.GetAliases() {
		if a.GetAliasName() == alias {
			return a.GetCollectionName(), nil
		}
	}
	return "", nil
}

// Activate implements Index. Creating an alias that exists moves it to another collection in one step. Deleting it
// first would not be safe: if a later action fails, the server keeps the effect of the earlier ones, and then no
// collection would be searched.
func (q *Qdrant) Activate(ctx context.Context, g Generation) error {
	ctx, cancel := context.WithTimeout(ctx, qdrantAdminTimeout)
	defer cancel()
	alias, collection := q.alias(g.Model), q.collection(g)
	named, err := q.named(ctx, alias)
	if err != nil || named == collection {
		return err
	}
	_, err = q.client.Collections().UpdateAliases(ctx,
		&qd.ChangeAliases{Actions: []*qd.AliasOperations{qd.NewAliasCreate(alias, collection)},
			Timeout: serverTimeout(ctx)})
	return qdrantError(ctx, "swap alias", err)
}

// Drop implements Index. Deleting a collection deletes its aliases.
func (q *Qdrant) Drop(ctx context.Context, g Generation) error { return q.drop(ctx, q.collection(g)) }

func (q *Qdrant) drop(ctx context.Context, collection string) error {
	ctx, cancel := context.WithTimeout(ctx, qdrantAdminTimeout)
	defer cancel()
	_, err := q.client.Collections().Delete(ctx, &qd.DeleteCollection{CollectionName: collection,
		Timeout: serverTimeout(ctx)})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return qdrantError(ctx, "drop collection", err)
}

// Check reports whether the server can be reached, is new enough, and accepts the API key.
func (q *Qdrant) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	res, err := q.client.Qdrant().HealthCheck(ctx, &qd.HealthCheckRequest{})
	if err != nil {
		return qdrantError(ctx, "check", err)
	}
	major, minor := 0, 0
	n, err := fmt.Sscanf(res.GetVersion(), "%d.%d", &major, &minor) // a custom build may have another format
	if err == nil && n == 2 && (major < 1 || major == 1 && minor < 16) {
		return fmt.Errorf("qdrant is version %d.%d; 1.16 or later is needed", major, minor)
	}
	// The health check needs no key; this call does.
	_, err = q.client.Collections().ListAliases(ctx, &qd.ListAliasesRequest{})
	return qdrantError(ctx, "check", err)
}
