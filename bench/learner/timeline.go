package learner

import (
	"fmt"

	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/session"
)

// summarized returns the attempts that can be read from the episode of the session, whose timeline has a line for each
// event.
func (s *Session) summarized() ([]trace.Attempt, error) {
	episode, ok := session.Close(s.Stream, s.Events, session.Finished)
	if !ok {
		return nil, fmt.Errorf("session %s has no episode", s.Stream)
	}
	return trace.OfEpisode(s.meta(), episode.Payload), nil
}
