package transfer

import (
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/revision"
)

// SupersessionCheck finds a memory that superseded itself through a chain of others. It holds two ids for every
// memory that superseded another.
type SupersessionCheck struct {
	newer map[uuid.UUID][]uuid.UUID
}

// Add records the supersessions of a line, from its columns and its relations.
func (k *SupersessionCheck) Add(line ExportLine) {
	if line.Record == nil {
		return
	}
	id, err := uuid.Parse(line.Record.ID)
	if err != nil {
		return
	}
	note := func(older, newer uuid.UUID) {
		if k.newer == nil {
			k.newer = map[uuid.UUID][]uuid.UUID{}
		}
		if !slices.Contains(k.newer[older], newer) {
			k.newer[older] = append(k.newer[older], newer)
		}
	}
	if newer, err := uuid.Parse(line.Record.SupersededBy); err == nil {
		note(id, newer)
	}
	if older, err := uuid.Parse(line.Record.Supersedes); err == nil {
		note(older, id)
	}
	for _, edge := range line.Relations {
		if edge.Predicate == revision.RelationSupersedes {
			note(edge.TargetID, id)
		}
	}
}

// Cycle returns a memory of a cycle and true, or false if there is no cycle.
func (k *SupersessionCheck) Cycle() (uuid.UUID, bool) {
	const (
		open = 1
		done = 2
	)
	state := make(map[uuid.UUID]int, len(k.newer))
	for start := range k.newer {
		// Depth first without recursion, because a chain may be as long as the file.
		path := []uuid.UUID{start}
		for len(path) > 0 {
			at := path[len(path)-1]
			if state[at] == 0 {
				state[at] = open
				for _, next := range k.newer[at] {
					switch state[next] {
					case open:
						return next, true
					case 0:
						path = append(path, next)
					}
				}
				continue
			}
			path = path[:len(path)-1]
			if state[at] == open {
				state[at] = done
			}
		}
	}
	return uuid.Nil, false
}
