package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// A party of a contest that was deleted does not come back beside the fact for which the contest was decided meanwhile:
// no contested memory makes the claim of an active one. It comes back while the contest is open.
func TestRecoverOfAPartyOfAContest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Rome", ""), claims("Ana", "Oslo", ""))
	w.forgetAll(w.forgets(schema.ForgetSoft, named(a)))
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(a).Status, "the contest is open")
	require.Equal(t, schema.StatusContested, w.get(a).Status)

	w.forgetAll(w.forgets(schema.ForgetSoft, named(a)))
	req := w.revision(schema.ReviseResolve, nil, w.as(b)...)
	req.Winner = b.String()
	w.applied(req)
	item := w.recoverOne(a)
	require.Equal(t, schema.RecoverActiveFact, item.Status)
	require.Equal(t, b.String(), item.ConflictID)
	require.NotNil(t, w.get(a).DeletedAt)
	testkit.CheckInvariants(t, w.owner)
}
