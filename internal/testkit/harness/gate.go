package harness

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Gate is a proxy between a worker and Temporal. It holds back the acknowledgement of one activity: the effect of the
// activity is committed, and the server never learns of it. It also shortens the time limits of that activity
// (noticedWithin), so that a test need not wait for production's 20 or 45 seconds until the server notices that a
// worker is dead.
type Gate struct {
	Address string
	Held    chan struct{} // closed when the acknowledgement has been caught

	activity string // its first acknowledgement is held back
	upstream *grpc.ClientConn

	mu    sync.Mutex
	types map[string]string // activity type by task token
	held  bool
}

const (
	servicePath        = "/temporal.api.workflowservice.v1.WorkflowService/"
	pollActivity       = servicePath + "PollActivityTaskQueue"
	completeActivity   = servicePath + "RespondActivityTaskCompleted"
	completeWorkflow   = servicePath + "RespondWorkflowTaskCompleted"
	largestMessageSize = 64 << 20

	// noticedWithin is longer than the interval of heartbeats, and long enough for an attempt on a loaded machine.
	noticedWithin = 8 * time.Second
)

// rawFrames passes messages on unchanged.
type rawFrames struct{}

func (rawFrames) Name() string { return "raw" }

func (rawFrames) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawFrames) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// NewGate starts a gate before the server at address. A local activity, such as StageCandidates, is
// acknowledged with the workflow task that it ran in. The name of a call to the server, such as
// RespondNexusTaskCompleted, holds that call.
func NewGate(t testing.TB, address, activity string) *Gate {
	t.Helper()
	upstream, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawFrames{}), grpc.MaxCallRecvMsgSize(largestMessageSize),
			grpc.MaxCallSendMsgSize(largestMessageSize)))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &Gate{Address: listener.Addr().String(), Held: make(chan struct{}), activity: activity,
		upstream: upstream, types: map[string]string{}}
	server := grpc.NewServer(grpc.ForceServerCodec(rawFrames{}), grpc.UnknownServiceHandler(g.pass),
		grpc.MaxRecvMsgSize(largestMessageSize), grpc.MaxSendMsgSize(largestMessageSize))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		_ = upstream.Close()
	})
	return g
}

func (g *Gate) pass(_ any, stream grpc.ServerStream) error {
	method, ok := grpc.MethodFromServerStream(stream)
	if !ok {
		return status.Error(codes.Internal, "no method")
	}
	var request, response []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if g.catches(method, request) {
		<-stream.Context().Done() // until the worker has gone
		return status.Error(codes.Unavailable, "held")
	}
	ctx := stream.Context()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	if method == completeWorkflow {
		var err error
		if request, err = g.shorten(request); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}
	if err := g.upstream.Invoke(ctx, method, &request, &response); err != nil {
		return err
	}
	g.learn(method, response)
	return stream.SendMsg(&response)
}

// shorten lowers the time limits of the gate's activity where the request schedules it.
func (g *Gate) shorten(request []byte) ([]byte, error) {
	var done workflowservice.RespondWorkflowTaskCompletedRequest
	if err := proto.Unmarshal(request, &done); err != nil {
		return nil, err
	}
	scheduled := false
	for _, command := range done.GetCommands() {
		if a := command.GetScheduleActivityTaskCommandAttributes(); a.GetActivityType().GetName() == g.activity {
			if a.GetHeartbeatTimeout().AsDuration() > 0 {
				a.HeartbeatTimeout = durationpb.New(noticedWithin)
			} else {
				a.StartToCloseTimeout = durationpb.New(noticedWithin)
			}
			scheduled = true
		}
	}
	if !scheduled {
		return request, nil
	}
	return proto.Marshal(&done)
}

// learn records the activity of a task token.
func (g *Gate) learn(method string, response []byte) {
	note := func(task *workflowservice.PollActivityTaskQueueResponse) {
		if len(task.GetTaskToken()) > 0 {
			g.mu.Lock()
			g.types[string(task.GetTaskToken())] = task.GetActivityType().GetName()
			g.mu.Unlock()
		}
	}
	switch method {
	case pollActivity:
		var task workflowservice.PollActivityTaskQueueResponse
		if proto.Unmarshal(response, &task) == nil {
			note(&task)
		}
	case completeWorkflow: // eager activities come with it
		var done workflowservice.RespondWorkflowTaskCompletedResponse
		if proto.Unmarshal(response, &done) == nil {
			for _, task := range done.GetActivityTasks() {
				note(task)
			}
		}
	}
}

// catches reports whether the request is the acknowledgement to hold, the first time it comes.
func (g *Gate) catches(method string, request []byte) bool {
	caught := false
	g.mu.Lock()
	defer g.mu.Unlock()
	switch method {
	case servicePath + g.activity:
		caught = true
	case completeActivity:
		var done workflowservice.RespondActivityTaskCompletedRequest
		caught = proto.Unmarshal(request, &done) == nil && g.types[string(done.GetTaskToken())] == g.activity
	case completeWorkflow:
		var done workflowservice.RespondWorkflowTaskCompletedRequest
		if proto.Unmarshal(request, &done) != nil {
			break
		}
		for _, command := range done.GetCommands() {
			if command.GetCommandType() != enumspb.COMMAND_TYPE_RECORD_MARKER {
				continue
			}
			marker := command.GetRecordMarkerCommandAttributes()
			for _, payloads := range marker.GetDetails() {
				for _, p := range payloads.GetPayloads() {
					caught = caught || marker.GetMarkerName() == "LocalActivity" && bytes.Contains(p.GetData(),
						[]byte(g.activity))
				}
			}
		}
	}
	if !caught || g.held {
		return caught // every later attempt too: the test kills the worker while it waits
	}
	g.held = true
	close(g.Held)
	return true
}

// WaitHeld waits until the acknowledgement has been caught.
func (g *Gate) WaitHeld(ctx context.Context) error {
	select {
	case <-g.Held:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s was never acknowledged: %w", g.activity, ctx.Err())
	}
}
