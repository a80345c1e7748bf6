package doctor

import (
	"context"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store/eventindex"
)

// memoryIndex warns where the text of events is sent to another machine.
func (d *Doctor) memoryIndex(context.Context) (verdict, error) {
	switch kind := d.A.Cfg.MemoryIndex.Kind; kind {
	case config.MemoryIndexHosted:
		return warn("If that is not wanted, set it to vectors or off, and wipe the service.", eventindex.HostedWarning), nil
	case config.MemoryIndexVectors:
		return fine("in Postgres"), nil
	default:
		return fine("off"), nil
	}
}
