package recorder_test

import (
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/schema"
)

// assist is an agent that answers a question.
func assist(ctx workflow.Context, p schema.Principal, taskQueue, question string) (answer string, err error) {
	rec := recorder.Open(ctx, recorder.Options{Principal: p, TaskQueue: taskQueue})
	rec.Heard(question)

	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	err = workflow.ExecuteActivity(ctx, "search", question).Get(ctx, &answer) // recorded by the interceptor

	rec.Said(answer)
	rec.Close(ctx, schema.OutcomeSuccess, "answered")
	return answer, err
}

func newWorker(c client.Client, taskQueue string) worker.Worker {
	return worker.New(c, taskQueue, worker.Options{Interceptors: []interceptor.WorkerInterceptor{
		recorder.Interceptor(recorder.InterceptorOptions{}),
	}})
}
