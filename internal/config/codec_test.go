package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/mneme/mneme/internal/config"
)

// While the payload key is changed, each process reads what the others write, before and after it has the new key. A
// run that cannot be decrypted would stand still.
func TestThePayloadKeyCanBeChanged(t *testing.T) {
	t.Parallel()
	former, next := []byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))
	process := func(key []byte, others ...[]byte) client.Options {
		var o client.Options
		require.NoError(t, config.Encrypt(&o, key, others...))
		return o
	}
	steps := []client.Options{process(former), process(former, next), process(next, former), process(next)}
	reads := func(reader, writer client.Options) bool {
		p, err := writer.DataConverter.ToPayload("XyzzyCanary")
		require.NoError(t, err)
		raw, err := proto.Marshal(p)
		require.NoError(t, err)
		require.NotContains(t, string(raw), "XyzzyCanary")
		failure := writer.FailureConverter.ErrorToFailure(temporal.NewApplicationError("XyzzyCanary", "Kind"))
		require.NotContains(t, failure.Message, "XyzzyCanary")
		var out string
		read := reader.DataConverter.FromPayload(p, &out) == nil
		require.Equal(t, read, strings.Contains(reader.FailureConverter.FailureToError(failure).Error(), "XyzzyCanary"))
		return read && out == "XyzzyCanary"
	}
	for i := range steps[1:] {
		require.True(t, reads(steps[i], steps[i+1]), i)
		require.True(t, reads(steps[i+1], steps[i]), i)
	}
	require.False(t, reads(steps[0], steps[3]))
	require.False(t, reads(steps[3], steps[0]))

	// Without a key, earlier payloads can still be read, and new ones are in clear.
	off := process(nil, former)
	require.True(t, reads(off, steps[0]))
	p, err := off.DataConverter.ToPayload("in clear")
	require.NoError(t, err)
	require.Contains(t, string(p.GetData()), "in clear")
	failure := off.FailureConverter.ErrorToFailure(temporal.NewApplicationError("in clear", "Kind"))
	require.Equal(t, "in clear", failure.Message)
}
