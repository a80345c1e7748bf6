package doctor

import (
	"context"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store/eventindex"
)

// memoryIndex warns if the text of events is sent to another machine.
func (d *Doctor) memoryIndex(context.Context) (verdict, error) {
	switch kind := d.A.Cfg.MemoryIndex.Kind; kind {
	case config.MemoryIndexHosted:
		return warn("If that is not wanted, set it to vectors or off, and wipe the service.", eventindex.HostedWarning),
			nil
	case config.MemoryIndexVectors:
		return fine("in Postgres"), nil
	case config.MemoryIndexQdrant:
		return fine("in the Qdrant server of the vector index, which the check index covers"), nil
	default:
		return fine("off"), nil
	}
}
