package openai_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Servers differ in the form of what is around an answer. A count in another form does not lose the answer, and an answer
// in parts, as models send that reason, is the text of its parts.
func TestOtherFormsOfAnAnswer(t *testing.T) {
	const content = `"{\"facts\":[{\"content\":\"Ana lives in Oslo.\",\"category\":\"fact\",\"confidence\":0.9}],\"entities\":[]}"`
	parts := `[{"type":"thinking","thinking":[{"type":"text","text":"{\"facts\":[]}"}]},{"type":"text","text":` + content + `}]`
	for name, c := range map[string]struct {
		content, usage   string
		prompt, answered int64
	}{
		"counts with a point":    {content, `{"prompt_tokens":11.0,"completion_tokens":7e0}`, 11, 7},
		"counts as text":         {content, `{"prompt_tokens":"11","completion_tokens":7}`, 0, 7},
		"counts out of range":    {content, `{"prompt_tokens":1e300,"completion_tokens":-3}`, 0, 0},
		"a list of counts":       {content, `[11,7]`, 0, 0},
		"no counts":              {content, `null`, 0, 0},
		"the answer in parts":    {parts, `{"prompt_tokens":11,"completion_tokens":7}`, 11, 7},
		"the answer in one part": {`[{"type":"text","text":` + content + `}]`, `{}`, 0, 0},
	} {
		s := serve(t, func(w http.ResponseWriter, _ request) {
			_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"content":`+c.content+`}}],"usage":`+
				c.usage+`}`)
		})
		out, usage, err := s.brain(t).Extractor.Extract(ctx, source)
		require.NoError(t, err, name)
		require.Len(t, out.Facts, 1, name)
		require.Equal(t, "Ana lives in Oslo.", out.Facts[0].Content, name)
		require.Equal(t, []int64{c.prompt, c.answered}, []int64{usage.PromptTokens, usage.CompletionTokens}, name)
	}
}
