package qdranttest

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	qd "github.com/qdrant/go-client/qdrant"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Version is the version that the service reports by default.
const Version = "1.17.1"

// Server is one service. It is safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:port, the same after every restart; https with TLS

	address string
	apiKey  string
	version string
	tls     *tls.Config

	mu          sync.Mutex
	grpc        *grpc.Server
	collections map[string]*collection
	aliases     map[string]string
	operations  uint64
	stalled     bool
	before      func(ctx context.Context, method string, req any) error
}

// Option changes a server before it starts.
type Option func(*Server)

// WithAPIKey makes the server refuse calls without the key, except HealthCheck.
func WithAPIKey(key string) Option { return func(s *Server) { s.apiKey = key } }

// WithVersion sets the version that the server reports.
func WithVersion(v string) Option { return func(s *Server) { s.version = v } }

// WithTLS makes the server use TLS with a certificate.
func WithTLS(certificate tls.Certificate) Option {
	return func(s *Server) {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	}
}

// Start starts a server for one test, which ends with the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &Server{version: Version, address: "127.0.0.1:0"}
	for _, o := range options {
		o(s)
	}
	s.wipe()
	require.NoError(t, s.listen())
	s.URL = "http://" + s.address
	if s.tls != nil {
		s.URL = "https://" + s.address
	}
	t.Cleanup(s.Stop)
	return s
}

// Address is the address of a server and the credentials for it.
type Address struct {
	URL    string
	APIKey string         // empty if none is needed
	RootCA *x509.CertPool // nil for the system's
}

// Drop deletes the collections of a server whose names begin with a prefix.
func (a Address) Drop(ctx context.Context, prefix string) error {
	u, err := url.Parse(a.URL)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(cmp.Or(u.Port(), "6334"))
	if err != nil {
		return err
	}
	client, err := qd.NewClient(&qd.Config{Host: u.Hostname(), Port: port, APIKey: a.APIKey, UseTLS: u.Scheme == "https",
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.RootCA}, SkipCompatibilityCheck: true})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	names, err := client.ListCollections(ctx)
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			err = errors.Join(err, client.DeleteCollection(ctx, name))
		}
	}
	return err
}

// Any returns the address of a server for tests that also run against a real one: the server in QDRANT_URL,
// QDRANT_API_KEY and QDRANT_CA_FILE or, if no URL is set, a new one within the process.
func Any(t testing.TB) Address {
	t.Helper()
	if !Real() {
		return Address{URL: Start(t).URL}
	}
	a := Address{URL: os.Getenv("QDRANT_URL"), APIKey: os.Getenv("QDRANT_API_KEY")}
	if file := os.Getenv("QDRANT_CA_FILE"); file != "" {
		pem, err := os.ReadFile(file) //nolint:gosec // who runs the tests names the file
		require.NoError(t, err)
		a.RootCA = x509.NewCertPool()
		require.True(t, a.RootCA.AppendCertsFromPEM(pem), "QDRANT_CA_FILE holds no certificate")
	}
	return a
}

// Real reports whether Any returns a real server.
func Real() bool { return os.Getenv("QDRANT_URL") != "" }

func (s *Server) listen() error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(64 << 20), grpc.UnaryInterceptor(s.intercept),
		// The client's keepalive pings are more frequent than gRPC servers in Go allow by default.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true})}
	if s.tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.tls)))
	}
	server := grpc.NewServer(options...)
	qd.RegisterQdrantServer(server, health{Server: s})
	qd.RegisterCollectionsServer(server, collections{Server: s})
	qd.RegisterPointsServer(server, points{Server: s})
	s.mu.Lock()
	s.grpc = server
	s.mu.Unlock()
	go func() { _ = server.Serve(listener) }() // ends with Stop
	return nil
}

// Stop kills the server: running calls fail, and its port refuses connections. The data stays for Restart.
func (s *Server) Stop() {
	s.mu.Lock()
	server := s.grpc
	s.grpc = nil
	s.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// Restart starts a stopped server on its port again, with or without its previous data.
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

// Before makes the server call fn before every call, with the full method name. fn may wait, and an error that it
// returns becomes the result of the call. Nil removes the function.
func (s *Server) Before(fn func(ctx context.Context, method string, req any) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = fn
}

// Stall makes the server accept changes without applying them, as an overloaded server does: a caller that waits for
// one is told, without an error, that its timeout has expired. With false, all accepted changes are applied.
func (s *Server) Stall(stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled = stalled; stalled {
		return
	}
	for _, c := range s.collections {
		c.flush()
	}
}

func (s *Server) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	if s.apiKey != "" && !strings.HasSuffix(info.FullMethod, "/HealthCheck") {
		md, _ := metadata.FromIncomingContext(ctx)
		switch keys := md.Get("api-key"); {
		case len(keys) != 1:
			return nil, status.Error(codes.Unauthenticated, "Must provide an API key or an Authorization bearer token")
		case keys[0] != s.apiKey:
			return nil, status.Error(codes.Unauthenticated, "Invalid API key or JWT")
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

// checkName returns an error for an invalid name of a collection or alias.
func checkName(name, never string) error {
	if name == "" || len(name) > 255 {
		return status.Error(codes.InvalidArgument,
			"Validation error in body: [collection_name: must be from 1 to 255 characters]")
	}
	if i := strings.IndexAny(name, never); i >= 0 {
		return status.Errorf(codes.InvalidArgument,
			"Validation error in body: [collection_name: collection name cannot contain %q char]", name[i])
	}
	return nil
}

// find returns a collection by its name or an alias. The lock is held.
func (s *Server) find(name string) (*collection, error) {
	if err := checkName(name, "/\x00"); err != nil {
		return nil, err
	}
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
