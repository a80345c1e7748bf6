package search

import (
	"fmt"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// VectorClass is a part of the memories that has its own partial HNSW index: one (tier, typology) cell, or several
// small cells together.
type VectorClass struct {
	Tier     schema.Tier
	Typology schema.Typology
}

// shortLivedFacts are the facts and procedures that are kept for one interaction or session. They share an index,
// because every index adds a search to each question.
var shortLivedFacts = VectorClass{"brief", "learned"}

// VectorClasses are the classes of memories that have a vector index of their own.
var VectorClasses = []VectorClass{
	{schema.TierSession, schema.TypologyEpisodic},
	{schema.TierInteraction, schema.TypologyEpisodic},
	{schema.TierPersistent, schema.TypologySemantic},
	{schema.TierPersistent, schema.TypologyProcedural},
	shortLivedFacts,
}

// where renders the condition that the embedding e is of the class, exactly as in the class's index.
func (c VectorClass) where() string {
	if c == shortLivedFacts {
		return "e.tier IN ('interaction', 'session') AND e.typology IN ('semantic', 'procedural')"
	}
	return fmt.Sprintf("e.tier = '%s' AND e.typology = '%s'", c.Tier, c.Typology)
}

// NearestSQL selects the memories of one class nearest to a vector. Model and class are literals, so that the
// planner can match the class's partial index. The condition on the memory m applies before the limit: the index
// scan continues until enough memories meet it.
//
// Each memory is read by its whole key, whatever the planner's estimate of the tenant (byKey). The inner query selects
// only the distance, by which the index orders; a score in its place would convert each vector a second time.
func NearestSQL(model inference.EmbeddingModel, class VectorClass, tenant, vector, limit, condition string) string {
	return fmt.Sprintf(`
		SELECT d.id, greatest(0, 1 - d.distance)::float8 AS score
		FROM (
			SELECT e.memory_id AS id, e.embedding::halfvec(%[1]d) <=> %[2]s::vector::halfvec(%[1]d) AS distance
			FROM memory_embeddings e
			CROSS JOIN `+pg.ByKey("m", "e.tenant", "e.memory_id")+`
			WHERE e.tenant = %[3]s AND e.model = %[4]s AND e.dims = %[1]d
				AND %[5]s
				AND %[7]s
			ORDER BY distance
			LIMIT %[6]s
		) d`,
		model.Dimensions, vector, tenant, pg.QuoteLiteral(model.Name), class.where(), limit, condition)
}
