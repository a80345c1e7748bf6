//go:build !nolocal

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/gomlx/go-huggingface/hub"
)

// wanted are the files of a model that describe reads, in addition to the graph and its weights.
var wanted = []string{
	"config.json",
	"tokenizer.json",
	"tokenizer_config.json",
	"modules.json",
	"sentence_bert_config.json",
	"config_sentence_transformers.json",
	"1_Pooling/config.json",
}

const defaultRevision = "main"

// download returns the directory of the named model, and downloads it once with the hub client that comes with hugot.
// Files are written to a temporary directory that is renamed when complete, so that an interrupted download is never
// used as a model; complete files are kept for the next try. hugot's own DownloadModel is not used: it drops the file
// with the pooling.
func download(ctx context.Context, c Config) (string, error) {
	name, revision, _ := strings.Cut(c.Model, "@")
	if revision == "" {
		revision = defaultRevision
	}
	owner, base, ok := strings.Cut(name, "/")
	if !ok || owner == "" || base == "" || strings.Contains(base, "/") || strings.Contains(c.Model, "..") ||
		strings.Contains(revision, "/") {
		return "", errors.New(
			"embedding model: its name must be of the form owner/model or owner/model@revision; a directory is " +
				"given separately",
		)
	}
	root := c.CacheDir
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("embedding model: no cache directory: %w", err)
		}
		root = filepath.Join(user, "mneme", "models")
	}
	// Another graph than the usual one is downloaded into a separate directory with all its files: the revision may
	// have changed since the first download.
	dir := filepath.Join(root, owner+"--"+base+"@"+revision)
	variant := dir + "+" + strings.ReplaceAll(cmp.Or(c.Graph, usualGraphs[0]), "/", "_")
	for _, standing := range []string{dir, variant} {
		if hasGraph(standing, c.Graph) {
			return standing, nil
		}
	}
	if _, err := os.Stat(dir); err == nil || c.Graph != "" {
		dir = variant
	}
	partial := filepath.Join(root, ".downloads")
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return "", fmt.Errorf("embedding model: %w", err)
	}
	done := make(chan error, 1)
	var paths map[string]string
	go func() { // ends without ctx: the client takes no context, but each of its requests has a time limit
		var err error
		paths, err = fetch(c, name, revision, partial)
		done <- err
	}()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return "", fmt.Errorf(
					"embedding model: %s cannot be downloaded (%w): without a network, put its directory on "+
						"this machine and "+
						"name it with MNEME_EMBED_MODEL_DIR, or leave MNEME_EMBEDDER at hash",
					c.Model,
					err,
				)
			}
			if err := assemble(paths, dir); err != nil {
				return "", fmt.Errorf("embedding model: %w", err)
			}
			c.tell("%s: complete in %s\n", c.Model, dir)
			return dir, nil
		case <-tick.C:
			c.tell("%s: downloaded %s\n", c.Model, humanize.Bytes(size(partial)))
		case <-ctx.Done():
			return "", fmt.Errorf("embedding model: download of %s: %w", c.Model, ctx.Err())
		}
	}
}

// fetch downloads the model's files into the client's cache and returns their paths by name.
func fetch(c Config, name, revision, cache string) (_ map[string]string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the hub's answer was not understood")
		}
	}()
	repo := hub.New(name).WithCacheDir(cache).WithRevision(revision).WithProgressBar(false)
	repo.Verbosity = 0 // it would write to standard output, which is for answers
	if c.Endpoint != "" {
		repo.WithEndpoint(c.Endpoint)
	}
	if err := repo.DownloadInfo(false); err != nil {
		return nil, err
	}
	var all []string
	for file, err := range repo.IterFileNames() {
		if err != nil {
			return nil, err
		}
		all = append(all, file)
	}
	graph, err := graphAmong(all, c.Graph)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, file := range all {
		if slices.Contains(wanted, file) || file == graph || file == graph+"_data" || file == graph+".data" {
			files = append(files, file)
		}
	}
	// One by one, because the library counts concurrent downloads without a lock.
	paths := make(map[string]string, len(files))
	for _, file := range files {
		if paths[file], err = repo.DownloadFile(file); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// usualGraphs are the default names of the graph.
var usualGraphs = []string{"onnx/model.onnx", "model.onnx"}

func graphNames(named string) []string {
	if named != "" {
		return []string{named}
	}
	return usualGraphs
}

// hasGraph reports whether a directory has the requested graph.
func hasGraph(dir, named string) bool {
	return slices.ContainsFunc(graphNames(named), func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil
	})
}

// graphAmong returns the repository's file that findGraph will look for.
func graphAmong(files []string, named string) (string, error) {
	names := graphNames(named)
	for _, name := range names {
		if slices.Contains(files, name) {
			return name, nil
		}
	}
	var graphs []string
	for _, file := range files {
		if path.Ext(file) == ".onnx" {
			graphs = append(graphs, file)
		}
	}
	if len(graphs) == 0 {
		return "", errors.New("it has no ONNX file")
	}
	return "", fmt.Errorf(
		"it has no %s; set MNEME_EMBED_ONNX_FILE to one of %s",
		strings.Join(names, " or "),
		strings.Join(graphs, ", "),
	)
}

// assemble moves the files to a directory of their own, either all of them or none.
func assemble(paths map[string]string, dir string) error {
	staging, err := os.MkdirTemp(filepath.Dir(dir), ".model-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	for file, from := range paths {
		real, err := filepath.EvalSymlinks(from) // the client's cache has links to blobs
		if err != nil {
			return err
		}
		to := filepath.Join(staging, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := linkOrCopy(real, to); err != nil {
			return err
		}
	}
	if err := os.Chmod(staging, 0o755); err != nil {
		return err
	}
	if err := os.Rename(staging, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // another process may have been first
	}
	_, err = os.Stat(dir)
	return err
}

// linkOrCopy copies where the file system has no hard links.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (c Config) tell(format string, args ...any) {
	if c.Progress != nil {
		_, _ = fmt.Fprintf(c.Progress, format, args...)
	}
}

// size returns the bytes under a directory, for progress. Files that cannot be read are not counted.
func size(dir string) uint64 {
	total := uint64(0)
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			total += uint64(max(0, info.Size()))
		}
		return nil
	})
	return total
}
