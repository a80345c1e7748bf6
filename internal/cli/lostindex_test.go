package cli

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/doctor"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
	"github.com/mneme/mneme/store/vectorindex"
	"github.com/mneme/mneme/workflows"
)

// An index that answers may have lost what it should search. Recall then leaves out the vector channel, so the doctor
// must not call it healthy.
func TestTheDoctorFindsALostIndex(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t)
	prefix := "lost-" + uuid.NewString()
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: server.URL, Prefix: prefix})
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	h := harness.New(t, func(d *workflows.Dependencies) { d.Index = q })
	c := newCLI(t, h)
	c.cfg.Qdrant.URL, c.cfg.Qdrant.Prefix = server.URL, prefix
	c.remember("The ferry to Bilbao leaves at nine.", "--speaker", "Ana")
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	raw, err := qd.NewClient(&qd.Config{Host: u.Hostname(), Port: port, SkipCompatibilityCheck: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })

	finding := func(name string) doctor.Finding {
		t.Helper()
		var d doctor.Diagnosis
		c.run("doctor", "--json").json(&d)
		for _, f := range d.Checks {
			if f.Check == name {
				return f
			}
		}
		t.Fatal(name)
		return doctor.Finding{}
	}
	require.Equal(t, doctor.CheckOK, finding("index_generation").Status)
	require.Equal(t, doctor.CheckOK, finding("index_drift").Status)
	active, err := h.Store.Generations(t.Context(), q.Name())
	require.NoError(t, err)
	alias := prefix + "-hash-v1-384-active"

	require.NoError(t, raw.DeleteAlias(t.Context(), alias))
	require.Contains(t, c.recall("ferry to Bilbao").Meta.Degraded, "vector")
	f := finding("index_generation")
	require.Equal(t, doctor.CheckFail, f.Status, "the alias is lost: %s", f.Found)
	require.Contains(t, f.Do, "mneme index drift")
	require.Equal(t, doctor.CheckOK, finding("index").Status)
	c.run("index", "drift").is(app.ExitOK)
	require.Equal(t, doctor.CheckOK, finding("index_generation").Status)

	other := vector.Generation{ID: uuid.New(), Model: active[0].Model, State: vectorindex.GenerationActive}
	require.NoError(t, q.Create(t.Context(), other))
	f = finding("index_generation")
	require.Equal(t, doctor.CheckFail, f.Status, "another collection is searched: %s", f.Found)
	require.Contains(t, f.Do, "mneme index drift")
	c.run("index", "drift").is(app.ExitOK)
	require.Equal(t, doctor.CheckOK, finding("index_generation").Status)

	server.Stop()
	server.Restart(t, false)
	f = finding("index_generation")
	require.Equal(t, doctor.CheckFail, f.Status, "the server is empty: %s", f.Found)
	require.Contains(t, f.Do, "mneme index drift")
	require.Equal(t, doctor.CheckSkipped, finding("index_drift").Status, "one finding for one fault")
}
