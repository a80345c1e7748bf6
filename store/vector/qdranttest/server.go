// Package qdranttest is a Qdrant service within the process, for tests on machines that have no Qdrant. It
// speaks the gRPC interface of the real one, from the client's own protobufs, and holds to its semantics in
// the calls that are implemented: collections, aliases, payload indexes, conditional upserts, deletions,
// payload updates, filters, search, scroll, count, waiting, and their errors. Whatever it does not implement
// it refuses as Unimplemented instead of guessing. Search is exact.
package qdranttest

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	qd "github.com/qdrant/go-client/qdrant"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Version is what the service says it is.
const Version = "1.16.3"

// Server is one service. It is safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:port, the same after every restart

	address string
	apiKey  string
	version string

	mu          sync.Mutex
	grpc        *grpc.Server
	collections map[string]*collection
	aliases     map[string]string
	operations  uint64
	before      func(ctx context.Context, method string, req any) error
}

// Option changes a server before it starts.
type Option func(*Server)

// WithAPIKey has the server refuse calls that do not carry the key.
func WithAPIKey(key string) Option { return func(s *Server) { s.apiKey = key } }

// WithVersion has the server say that it is of another version.
func WithVersion(v string) Option { return func(s *Server) { s.version = v } }

// Start starts a server of the test's own; it ends with the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &Server{version: Version, address: "127.0.0.1:0"}
	for _, o := range options {
		o(s)
	}
	s.wipe()
	require.NoError(t, s.listen())
	s.URL = "http://" + s.address
	t.Cleanup(s.Stop)
	return s
}

// URL returns where the tests that run unchanged against a real server find one: QDRANT_URL, and a server
// within the process where that is not set.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv("QDRANT_URL"); url != "" {
		return url
	}
	return Start(t).URL
}

// Real says whether URL names a real server.
func Real() bool { return os.Getenv("QDRANT_URL") != "" }

func (s *Server) listen() error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.UnaryInterceptor(s.intercept))
	qd.RegisterQdrantServer(server, health{Server: s})
	qd.RegisterCollectionsServer(server, collections{Server: s})
	qd.RegisterPointsServer(server, points{Server: s})
	s.mu.Lock()
	s.grpc = server
	s.mu.Unlock()
	go func() { _ = server.Serve(listener) }() // ends with Stop
	return nil
}

// Stop kills the server: calls under way break off, and its port refuses connections. What it holds stays
// for Restart.
func (s *Server) Stop() {
	s.mu.Lock()
	server := s.grpc
	s.grpc = nil
	s.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// Restart starts a stopped server on its port again, with what it held or empty.
func (s *Server) Restart(t testing.TB, keep bool) {
	t.Helper()
	if !keep {
		s.wipe()
	}
	deadline := time.Now().Add(10 * time.Second) // the port may be held for a moment
	for {
		err := s.listen()
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "listen again: %v", err)
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *Server) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collections, s.aliases = map[string]*collection{}, map[string]string{}
}

// Before has fn called ahead of every call, with its full method name: it may wait, and an error that it
// returns is the call's. Nil takes it away.
func (s *Server) Before(fn func(ctx context.Context, method string, req any) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = fn
}

func (s *Server) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if s.apiKey != "" {
		md, _ := metadata.FromIncomingContext(ctx)
		if keys := md.Get("api-key"); len(keys) != 1 || keys[0] != s.apiKey {
			return nil, status.Error(codes.Unauthenticated, "Must provide an API key or an Authorization bearer token")
		}
	}
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, info.FullMethod, req); err != nil {
			return nil, err
		}
	}
	return handler(ctx, req)
}

type health struct {
	qd.UnimplementedQdrantServer
	*Server
}

// HealthCheck implements qdrant.QdrantServer.
func (h health) HealthCheck(context.Context, *qd.HealthCheckRequest) (*qd.HealthCheckReply, error) {
	return &qd.HealthCheckReply{Title: "qdrant - vector search engine", Version: h.version}, nil
}

// find returns a collection by its name or an alias. The lock is held.
func (s *Server) find(name string) (*collection, error) {
	if target, ok := s.aliases[name]; ok {
		name = target
	}
	c := s.collections[name]
	if c == nil {
		return nil, status.Errorf(codes.NotFound, "Not found: Collection `%s` doesn't exist!", name)
	}
	return c, nil
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, "Wrong input: "+format, args...)
}

func unimplemented(what string) error {
	return status.Error(codes.Unimplemented, what+" is not implemented here")
}
