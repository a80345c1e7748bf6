//go:build !nolocal

package local_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/local"
)

// modelHub serves the tiny model as a model hub does, with the graph under the given names.
type modelHub struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	broken bool // the graph cannot be downloaded
	hang   chan struct{}
}

func newModelHub(t *testing.T, graphs ...string) *modelHub {
	files := map[string][]byte{"README.md": []byte("not needed")}
	require.NoError(t, fs.WalkDir(os.DirFS(tiny), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name], err = os.ReadFile(filepath.Join(tiny, name))
		}
		return err
	}))
	graph := files["model.onnx"]
	delete(files, "model.onnx")
	for _, name := range graphs {
		files[name] = graph
	}
	h := &modelHub{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked = append(h.asked, r.Method+" "+r.URL.Path)
		broken, hang := h.broken, h.hang
		h.mu.Unlock()
		if hang != nil {
			<-hang
		}
		if strings.HasPrefix(r.URL.Path, "/api/models/owner/tiny/revision/") {
			var siblings []map[string]string
			for name := range files {
				siblings = append(siblings, map[string]string{"rfilename": name})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"id": "owner/tiny", "sha": "c0ffee", "siblings": siblings})
			return
		}
		_, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/owner/tiny/resolve/"), "/")
		content, ok := files[name]
		if !ok || broken && strings.HasSuffix(name, ".onnx") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
		w.Header().Set("X-Repo-Commit", "c0ffee")
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(content)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *modelHub) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

func TestDownload(t *testing.T) {
	t.Parallel()
	h := newModelHub(t, "onnx/model.onnx", "onnx/model_int8.onnx")
	var progress bytes.Buffer
	c := local.Config{Model: "owner/tiny", CacheDir: t.TempDir(), Endpoint: h.URL, Progress: &progress}
	texts, mean, _ := golden(t, "testdata/golden.json")
	e := load(t, c)
	near(t, mean[0], embed(t, e, texts[0])[0], "with the pooling of its files")
	require.True(t, strings.HasPrefix(e.Model().Name, "tiny:mean:"), e.Model().Name)
	require.Contains(t, progress.String(), "owner/tiny: complete")
	for _, r := range h.requests() {
		require.NotContains(t, r, "README.md", "only the required files")
		require.NotContains(t, r, "model_int8.onnx")
	}
	require.True(t, local.Named(e.Model().Name))

	other := c
	other.Graph = "onnx/model_int8.onnx"
	load(t, other)
	other.Graph = "onnx/model_int4.onnx"
	_, err := local.New(t.Context(), other)
	require.ErrorContains(t, err, "it has no onnx/model_int4.onnx")
	h.Close()
	require.Equal(t, e.Model(), load(t, c).Model(), "the second time without a network")
	other.Graph = "onnx/model_int8.onnx"
	load(t, other)
}

// If a model was downloaded with one graph and another is requested, that one is downloaded, in either order. This
// includes a graph that an earlier version did not download.
func TestDownloadOfAnotherGraph(t *testing.T) {
	t.Parallel()
	h := newModelHub(t, "onnx/model.onnx", "onnx/model_int8.onnx")
	c := local.Config{Model: "owner/tiny", CacheDir: t.TempDir(), Endpoint: h.URL}
	named := c
	named.Graph = "onnx/model_int8.onnx"
	load(t, named)
	load(t, c)
	load(t, named)

	old := filepath.Join(c.CacheDir, "owner--tiny@main")
	require.NoError(t, os.Remove(filepath.Join(old, "onnx", "model.onnx")))
	load(t, c)
	h.Close()
	load(t, c)
}

func TestInterruptedDownloadIsNoModel(t *testing.T) {
	t.Parallel()
	h := newModelHub(t, "model.onnx")
	c := local.Config{Model: "owner/tiny@v1", CacheDir: t.TempDir(), Endpoint: h.URL}
	h.broken = true
	_, err := local.New(t.Context(), c)
	require.ErrorContains(t, err, "cannot be downloaded")
	h.mu.Lock()
	h.broken = false
	h.mu.Unlock()
	load(t, c)
}

func TestDownloadWithoutANetwork(t *testing.T) {
	t.Parallel()
	h := newModelHub(t, "model.onnx")
	h.Close()
	_, err := local.New(t.Context(), local.Config{Model: "owner/tiny", CacheDir: t.TempDir(), Endpoint: h.URL})
	require.ErrorContains(t, err, "owner/tiny cannot be downloaded")
	require.ErrorContains(t, err, "MNEME_EMBED_MODEL_DIR", "the error says what to do")
}

func TestDownloadHonoursItsContext(t *testing.T) {
	t.Parallel()
	h := newModelHub(t, "model.onnx")
	h.hang = make(chan struct{})
	defer close(h.hang)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cache, err := os.MkdirTemp("", "mneme-models") // not t.TempDir, because the client ends a little later
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(cache) })
	_, err = local.New(ctx, local.Config{Model: "owner/tiny", CacheDir: cache, Endpoint: h.URL})
	require.ErrorIs(t, err, context.Canceled)
}

func TestDownloadOfARepositoryWithoutAModel(t *testing.T) {
	t.Parallel()
	_, err := local.New(t.Context(),
		local.Config{Model: "owner/tiny", CacheDir: t.TempDir(), Endpoint: newModelHub(t).URL})
	require.ErrorContains(t, err, "no ONNX file")
	_, err = local.New(t.Context(),
		local.Config{Model: "owner/tiny", CacheDir: t.TempDir(), Endpoint: newModelHub(t, "onnx/a.onnx").URL})
	require.ErrorContains(t, err, "onnx/a.onnx", "the error lists the available graphs")
	for _, name := range []string{"tiny", "a/b/c", "/x", "../../etc", "owner/..", "owner/x@a/b"} {
		_, err := local.New(t.Context(),
			local.Config{Model: name, CacheDir: t.TempDir(), Endpoint: "http://127.0.0.1:1"})
		require.ErrorContains(t, err, "of the form owner/model", name)
	}
}
