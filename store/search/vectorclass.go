package search

import (
	"fmt"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// VectorClass is a part of the memories with its own partial HNSW index: one (tier, typology) cell, or all cells with
// few memories together.
type VectorClass struct {
	Tier     schema.Tier
	Typology schema.Typology
}

// shortLivedFacts are the facts and procedures that are kept for an interaction or a session only. They share an
// index: each further one would be one more search for every question.
var shortLivedFacts = VectorClass{"brief", "learned"}

// VectorClasses are the classes of memories that have a vector index of their own.
var VectorClasses = []VectorClass{
	{schema.TierSession, schema.TypologyEpisodic},
	{schema.TierInteraction, schema.TypologyEpisodic},
	{schema.TierPersistent, schema.TypologySemantic},
	{schema.TierPersistent, schema.TypologyProcedural},
	shortLivedFacts,
}

// where renders that the embedding e is of the class, as the condition of its index does.
func (c VectorClass) where() string {
	if c == shortLivedFacts {
		return "e.tier IN ('interaction', 'session') AND e.typology IN ('semantic', 'procedural')"
	}
	return fmt.Sprintf("e.tier = '%s' AND e.typology = '%s'", c.Tier, c.Typology)
}

// NearestSQL selects the memories of one class nearest to a vector. Model and class are
// written out, not passed, so that the planner can match the class's partial index. The condition on
// the memory m holds before the cut: the index is scanned on until enough memories meet it.
//
// Each memory is read by its whole key, whatever the planner thinks of the tenant (byKey). The distance is selected and
// the score is computed outside, because an expression of the distance would be evaluated beside it: a vector is
// converted for each of them.
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
