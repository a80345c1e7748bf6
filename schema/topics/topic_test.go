package topics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
)

func TestTopicRequestReportsEveryInvalidField(t *testing.T) {
	t.Parallel()
	good := topics.TopicRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Question: "What is known?"}
	require.NoError(t, good.Validate())
	for field, spoil := range map[string]func(*topics.TopicRequest){
		"question":               func(r *topics.TopicRequest) { r.Question = "" },
		"principal.tenant":       func(r *topics.TopicRequest) { r.Principal.Tenant = "" },
		"read_policy":            func(r *topics.TopicRequest) { r.ReadPolicy = "all" },
		"principal.policy_group": func(r *topics.TopicRequest) { r.ReadPolicy = schema.ReadGroup },
		"evidence":               func(r *topics.TopicRequest) { r.Evidence = topics.MaxEvidence + 1 },
	} {
		bad := good
		spoil(&bad)
		var invalid *schema.ValidationError
		require.True(t, errors.As(bad.Validate(), &invalid), field)
		require.Equal(t, field, invalid.Fields[0].Field)
	}
	good.Question = strings.Repeat("a", topics.MaxQuestion+1)
	require.ErrorContains(t, good.Validate(), "500 characters")
}
