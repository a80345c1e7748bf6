package config

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCollectGarbageLess(t *testing.T) {
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	t.Setenv("GOGC", "70")
	CollectGarbageLess()
	require.Equal(t, 100, debug.SetGCPercent(100), "who sets GOGC decides")
	t.Setenv("GOGC", "")
	CollectGarbageLess()
	require.Equal(t, gcPercent, debug.SetGCPercent(100))
}
