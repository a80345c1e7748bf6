package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// No client holds a connection of the health endpoint for long. The time-outs are shortened here.
func TestClientsCannotHoldTheHealthEndpoint(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/body", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		for range 1 << 14 {
			if _, err := w.Write(make([]byte, 1<<14)); err != nil {
				return
			}
		}
	})
	server := newServer(mux)
	for _, timeout := range []*time.Duration{&server.ReadHeaderTimeout, &server.ReadTimeout, &server.WriteTimeout,
		&server.IdleTimeout} {
		*timeout = min(*timeout, 300*time.Millisecond)
	}
	handled := make(chan struct{}, 16)
	inner := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		handled <- struct{}{}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	dial := func(request string) *net.TCPConn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		return conn.(*net.TCPConn)
	}
	ends := func(what string, conn net.Conn) {
		t.Helper()
		_, err := io.Copy(io.Discard, bufio.NewReader(conn))
		var late net.Error
		if err != nil {
			require.False(t, errors.As(err, &late) && late.Timeout(), what)
		}
	}
	ends("half a header", dial("GET /livez HTTP/1.1\r\nHost: x\r\nX: "))
	ends("a body that does not come", dial("POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"))
	<-handled
	ends("no second request", dial("GET /body HTTP/1.1\r\nHost: x\r\n\r\n"))
	<-handled
	ends("a large header", dial("GET /body HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 80<<10)))

	slow := dial("GET /long HTTP/1.1\r\nHost: x\r\n\r\n") // 256 MB, of which nothing is read
	require.NoError(t, slow.SetReadBuffer(1<<10))
	select {
	case <-handled:
	case <-time.After(20 * time.Second):
		t.Fatal("the answer is still being written")
	}
}
