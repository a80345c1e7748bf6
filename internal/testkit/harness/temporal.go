package harness

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
)

// Namespace is the Temporal namespace of the tests.
const Namespace = client.DefaultNamespace

// Temporal connects to the test server.
func Temporal(t testing.TB) client.Client {
	t.Helper()
	return TemporalWith(t, nil)
}

// TemporalWith is Temporal with other options.
func TemporalWith(t testing.TB, change func(*client.Options)) client.Client {
	t.Helper()
	return DialTemporal(t, testkit.TemporalAddress(t), change)
}

// DialTemporal connects to a server and registers the search attributes; change may alter the
// options.
func DialTemporal(t testing.TB, address string, change func(*client.Options)) client.Client {
	t.Helper()
	options := client.Options{HostPort: address, Namespace: Namespace, Identity: "worker@test",
		Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		// compression is useless on one machine
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}}}
	if change != nil {
		change(&options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := client.DialContext(ctx, options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	if _, done := registered.Load(address + options.Namespace); !done {
		// Tests of several packages may register at once; the loser sees the winner's attributes.
		require.NoError(t, testkit.Eventually(ctx, func() error {
			return mneme.RegisterSearchAttributes(ctx, c, options.Namespace)
		}))
		registered.Store(address+options.Namespace, true)
	}
	return c
}

// registered has the namespaces whose search attributes this process has registered, by their addresses.
var registered sync.Map

// NewNamespace registers a namespace for one test, because schedules belong to a namespace and the worker creates them.
func NewNamespace(t testing.TB, address string) string {
	t.Helper()
	name := "t-" + uuid.NewString()
	nc, err := client.NewNamespaceClient(client.Options{HostPort: address})
	require.NoError(t, err)
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, nc.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)}))
	return name
}
