package config

import (
	"cmp"

	"go.temporal.io/sdk/worker"
)

// maxPollers is the maximum number of pollers that the SDK may open for each kind of task. It begins with few and adds
// more if tasks wait.
const maxPollers = 20

// ActivitySlots is the number of activities that a worker runs at once: MNEME_ACTIVITY_SLOTS or, if it is not set,
// three quarters of its connections. LocalSlots uses the other connections. Tasks without a slot wait in Temporal,
// where they use up no attempt; inside an activity, they would wait for a connection while the activity's time runs.
func (c Config) ActivitySlots() int {
	if c.Slots > 0 {
		return c.Slots
	}
	return max(1, c.conns()*3/4)
}

// LocalSlots is how many local activities (staging, recalls) and how many Nexus operations a worker runs
// concurrently: the number of connections not used by activities, at most four and at least one.
func (c Config) LocalSlots() int {
	return max(1, min(4, c.conns()-c.ActivitySlots()))
}

// conns is the number of connections: without a setting, the pool's default.
func (c Config) conns() int { return cmp.Or(c.MaxConns, 4) }

// WorkerOptions returns the worker options of the configuration.
func (c Config) WorkerOptions() worker.Options {
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		MaximumNumberOfPollers: maxPollers})
	return worker.Options{
		MaxConcurrentActivityExecutionSize:      c.ActivitySlots(),
		MaxConcurrentLocalActivityExecutionSize: c.LocalSlots(),
		MaxConcurrentNexusTaskExecutionSize:     c.LocalSlots(),
		WorkflowTaskPollerBehavior:              pollers,
		ActivityTaskPollerBehavior:              pollers,
		NexusTaskPollerBehavior:                 pollers,
	}
}
