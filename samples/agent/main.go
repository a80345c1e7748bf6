// Command agent is an agent that does real work and records itself: it repairs a Go module that does not build, with
// the Go tools, as a Temporal workflow. Mneme records what it does by the recorder and the interceptor of package
// client/recorder.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/interceptor"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/schema"
)

// agentName is the agent to which the session belongs.
const agentName = "builder"

// newWorker returns a worker of the agent. Its activities are recorded only because of the interceptor.
func newWorker(c client.Client, taskQueue string) worker.Worker {
	w := worker.New(c, taskQueue, worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{recorder.Interceptor(recorder.InterceptorOptions{})},
		// How long a run waits for a worker that was killed, before another one takes over.
		StickyScheduleToStartTimeout: time.Second})
	w.RegisterWorkflow(FixBuild)
	w.RegisterActivity(WriteProject)
	w.RegisterActivity(RunCheck)
	w.RegisterActivity(RunCommand)
	w.RegisterActivity(Repair)
	return w
}

// start starts the agent.
func start(ctx context.Context, c client.Client, taskQueue, session string, job Job) (client.WorkflowRun, error) {
	return c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: session, TaskQueue: taskQueue}, FixBuild, job)
}

// report waits for the agent, and prints what it did and the episode that Mneme made of it.
func report(ctx context.Context, c client.Client, mnemeQueue string, run client.WorkflowRun, p schema.Principal,
	out io.Writer) error {
	var done Done
	if err := run.Get(ctx, &done); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "The agent ended with %s:\n", done.Outcome)
	for i, r := range done.Repairs {
		_, _ = fmt.Fprintf(out, "  %d. %s: %s%s\n", i+1, r.File, r.Change, how(r))
	}
	closed, err := mneme.CloseSession(ctx, c, mnemeQueue, api.CloseRequest{
		SessionRef: api.SessionRef{Principal: p, Session: run.GetID()}})
	if err != nil {
		return err
	}
	reading, err := mneme.StartGet(ctx, c, mnemeQueue, schema.GetRequest{Principal: p, IDs: []string{closed.EpisodeID}})
	if err != nil {
		return err
	}
	answer, err := mneme.Outcome[schema.GetResponse](ctx, reading)
	if err != nil {
		return err
	}
	if len(answer.Records) == 0 {
		return errors.New("the episode is not there")
	}
	var episode schema.EpisodicPayload
	if err := json.Unmarshal(answer.Records[0].Payload, &episode); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\nIts session %s is the episode %s (%s, %d events, %d tool calls):\n", run.GetID(),
		closed.EpisodeID, episode.Outcome, closed.Events, len(episode.ToolGraph))
	for _, e := range episode.Timeline {
		_, _ = fmt.Fprintf(out, "  %s  %-17s  %s\n", e.T.Format("15:04:05.000"), e.EventKind, shorten(e.Summary, 90))
	}
	return nil
}

// how describes how the agent found a command.
func how(r Repaired) string {
	switch a := r.Advised; {
	case a != nil && len(r.Tried) > 0:
		return fmt.Sprintf(" (advised, after %s)", strings.Join(r.Tried, ", "))
	case a != nil && a.Tentative:
		return fmt.Sprintf(" (at once: advised with %.0f %%, it helped in %s)", 100*a.Confidence, helpedIn(*a))
	case a != nil:
		return fmt.Sprintf(" (at once: advised with %.0f %%, learned from %s)", 100*a.Confidence, helpedIn(*a))
	case len(r.Tried) > 0:
		return fmt.Sprintf(" (found by trying; %s did not help)", strings.Join(r.Tried, ", "))
	}
	return ""
}

func helpedIn(a api.AdviceOption) string {
	if n := len(a.Evidence); n != 1 {
		return fmt.Sprintf("%d episodes", n)
	}
	return "1 episode"
}

func shorten(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// state prints the state of the work.
func state(ctx context.Context, c client.Client, ref api.SessionRef, out io.Writer) error {
	now, err := mneme.SessionWorking(ctx, c, ref)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s: %s; next: %s\n", now.Working.State, now.Working.ContextSummary,
		strings.Join(now.Working.NextActions, ", "))
	return nil
}

// settings are the flags.
type settings struct {
	worker, start, state, report bool
	session, queue, service      string
	pace                         time.Duration
}

func main() {
	var s settings
	flag.BoolVar(&s.worker, "worker", false, "only work, until interrupted")
	flag.BoolVar(&s.start, "start", false, "only start the agent")
	flag.BoolVar(&s.state, "state", false, "only print the state of the work of -session")
	flag.BoolVar(&s.report, "report", false, "only wait for the agent of -session, and report")
	flag.StringVar(&s.session, "session", "fix-build-"+time.Now().UTC().Format("0102-150405"),
		"name of the session, and id of the workflow")
	flag.StringVar(&s.queue, "task-queue", "sample-agent", "task queue of the agent")
	flag.StringVar(&s.service, "service", "", "name of the service to repair, a word; empty: the module greeter")
	flag.DurationVar(&s.pace, "pace", 0, "pause after each repair")
	flag.Parse()
	if err := s.act(); err != nil {
		log.Fatal(err)
	}
}

func (s settings) act() error {
	options := envconfig.MustLoadDefaultClientOptions() // TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …
	options.Logger = tlog.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{
		Level: slog.LevelError})))
	c, err := client.Dial(options)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	mnemeQueue := cmp.Or(os.Getenv("MNEME_TASK_QUEUE"), api.TaskQueue)
	p := schema.Principal{Tenant: cmp.Or(os.Getenv("MNEME_TENANT"), "default"), Agent: agentName}
	dir := filepath.Join(os.TempDir(), s.session)
	switch {
	case s.worker:
		return newWorker(c, s.queue).Run(worker.InterruptCh())
	case s.state:
		return state(ctx, c, api.SessionRef{Principal: p, Session: s.session}, os.Stdout)
	case !s.report:
		_, err := start(ctx, c, s.queue, s.session, Job{Dir: dir, Service: s.service, Pace: s.pace,
			Recorder: recorder.Options{Principal: p, TaskQueue: mnemeQueue}})
		if err != nil || s.start {
			return err
		}
		w := newWorker(c, s.queue)
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return report(ctx, c, mnemeQueue, c.GetWorkflow(ctx, s.session, ""), p, os.Stdout)
}
