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

// agentName is whose session it is.
const agentName = "builder"

// newWorker is a worker of the agent. The interceptor is all that the recording of its activities takes.
func newWorker(c client.Client, taskQueue string) worker.Worker {
	w := worker.New(c, taskQueue, worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{recorder.Interceptor(recorder.InterceptorOptions{})}})
	w.RegisterWorkflow(FixBuild)
	w.RegisterActivity(WriteProject)
	w.RegisterActivity(RunCheck)
	w.RegisterActivity(Repair)
	return w
}

// start starts the agent.
func start(ctx context.Context, c client.Client, taskQueue, session string, job Job) (client.WorkflowRun, error) {
	return c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: session, TaskQueue: taskQueue}, FixBuild, job)
}

// report waits for the agent, and prints what it did and the episode that Mneme made of it.
func report(ctx context.Context, c client.Client, mnemeQueue string, run client.WorkflowRun, p schema.Principal, out io.Writer) error {
	var done Done
	if err := run.Get(ctx, &done); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "The agent ended with %s:\n", done.Outcome)
	for i, r := range done.Repairs {
		_, _ = fmt.Fprintf(out, "  %d. %s: %s\n", i+1, r.File, r.Change)
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

func shorten(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

func main() {
	only := flag.Bool("worker", false, "only work, until interrupted")
	onlyStart := flag.Bool("start", false, "only start the agent")
	show := flag.Bool("show", false, "only wait for the agent of -session, and report")
	session := flag.String("session", "fix-build-"+time.Now().UTC().Format("0102-150405"), "name of the session and id of the workflow")
	queue := flag.String("task-queue", "sample-agent", "task queue of the agent")
	pace := flag.Duration("pace", 0, "pause between two repairs")
	flag.Parse()
	if err := act(*only, *onlyStart, *show, *session, *queue, *pace); err != nil {
		log.Fatal(err)
	}
}

func act(only, onlyStart, show bool, session, queue string, pace time.Duration) error {
	options := envconfig.MustLoadDefaultClientOptions() // TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …
	options.Logger = tlog.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	c, err := client.Dial(options)
	if err != nil {
		return err
	}
	defer c.Close()
	mnemeQueue := cmp.Or(os.Getenv("MNEME_TASK_QUEUE"), api.TaskQueue)
	p := schema.Principal{Tenant: cmp.Or(os.Getenv("MNEME_TENANT"), "acme"), Agent: agentName}
	if only {
		return newWorker(c, queue).Run(worker.InterruptCh())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if show {
		return report(ctx, c, mnemeQueue, c.GetWorkflow(ctx, session, ""), p, os.Stdout)
	}
	if !onlyStart {
		w := newWorker(c, queue)
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	dir := filepath.Join(os.TempDir(), session)
	run, err := start(ctx, c, queue, session, Job{Dir: dir, Pace: pace,
		Recorder: recorder.Options{Principal: p, TaskQueue: mnemeQueue}})
	if err != nil || onlyStart {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return report(ctx, c, mnemeQueue, run, p, os.Stdout)
}
