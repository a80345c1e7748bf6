package recall_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// Every channel answers any query, within its limit.
func TestAnyQueryIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, text := range []string{"the kestrel nests in the tower", "העוף מקנן במגדל", "🦅 🏰 nest", "茶隼在塔上筑巢",
		"it's 'quoted' & (bracketed) | piped"} {
		w.remember(text)
	}
	w.embed()
	hundredKB := strings.Repeat("a stack trace of goroutine 7 at main.go:42 with kestrel in it\n", 1700)
	for name, query := range map[string]string{
		"100 KB": hundredKB, "punctuation": `?!.,;:-–—"'()[]{}`, "tsquery": `kestrel & !(tower | 'x') <-> nest:*AB`,
		"tsquery, broken": `&|!( ' <2> :*`,
		"right to left":   "איפה מקנן העוף", "emoji": "🦅🏰", "CJK": "茶隼在哪里筑巢", "stop words": "what is the of and to",
		"like": `%_\%`, "one character": "k", "long word": strings.Repeat("k", 5000),
		"controls": "kes\x01trel\x7f\u200b\u202e", "half a pair": "kestrel \ufffd",
	} {
		for _, limit := range []int{0, 1, 1_000_000_000} {
			out, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: query, Limit: limit})
			require.NoError(t, err, name)
			require.Empty(t, out.Meta.Degraded, name)
			require.LessOrEqual(t, len(out.Results), schema.MaxRecallLimit, name)
			if limit == 1 {
				require.LessOrEqual(t, len(out.Results), 1, name)
			}
		}
	}
	for name, query := range map[string]string{"100 KB": hundredKB,
		"tsquery": `kestrel & !(tower | 'x') <-> nest:*AB`} {
		require.Equal(t, "the kestrel nests in the tower", w.recall(query).Results[0].Content, name)
	}
	require.Equal(t, "茶隼在塔上筑巢", w.recall("茶隼").Results[0].Content, "a substring of text without spaces")
	require.Equal(t, "העוף מקנן במגדל", w.recall("מקנן").Results[0].Content)
}

// embed embeds new memories, as the worker does after a write.
func (w *world) embed() {
	w.t.Helper()
	entries, err := w.Store.Outbox(ctx, w.p.Tenant, w.Embedder.Model(), nil, 100)
	require.NoError(w.t, err)
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Content
	}
	vectors, _, err := w.Embedder.Embed(ctx, texts)
	require.NoError(w.t, err)
	of := map[uuid.UUID][]float32{}
	for i, e := range entries {
		of[e.MemoryID] = vectors[i]
	}
	require.NoError(w.t, w.Store.KeepEmbeddings(ctx, w.p.Tenant, w.Embedder.Model(), entries, of, time.Now()))
	require.NoError(w.t, w.Store.SettleOutbox(ctx, w.p.Tenant, entries, time.Now()))
}

// The work of ranking is bounded, however long a question is and however many parts it has. Before it was, the first
// two of these queries took three seconds and more.
func TestLongQuestionsAreRankedInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 30 {
		w.remember(fmt.Sprintf("The port of service %d in the city of Lyon is %d since Monday", i, 8000+i))
	}
	w.embed()
	var words strings.Builder
	for i := 0; words.Len() < schema.MaxQueryBytes-100; i++ {
		fmt.Fprintf(&words, "port%d ", i)
	}
	for name, query := range map[string]string{
		"many questions":  strings.Repeat("what port and which city and ", schema.MaxQueryBytes/29),
		"many words":      "what is the port of " + words.String(),
		"a few questions": strings.Repeat("what port and which city and ", 2000/29),
	} {
		out := w.recall(query)
		require.NotContains(t, out.Meta.Degraded, rank.StageLatest, name)
		require.Less(t, out.Meta.TimingsMS["shape"], 2_000.0, "%s: %v", name, out.Meta.TimingsMS)
	}
}

// An accent may be a part of its letter or a character after it. Either question finds either text.
func TestBothFormsOfAnAccentAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.remember(norm.NFC.String("Café Zürich closes at eight"))
	second := w.remember(norm.NFD.String("Bäckerei Möller closes at nine"))
	w.remember("The harbour closes at ten")
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		for question, id := range map[string]uuid.UUID{"When does Café Zürich close?": first, "Zürich": first,
			"When does Bäckerei Möller close?": second, "Möller": second} {
			out := w.recall(form.String(question))
			require.NotEmpty(t, out.Results, question)
			require.Equal(t, id.String(), out.Results[0].ID, question)
			require.Greater(t, out.Results[0].Channels[rank.ChannelText], 0.9, "%s: the other form has no weight", question)
		}
	}
}

// A memory is found by its words in its own language.
func TestMemoriesInOtherLanguagesAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("The ferry leaves at nine")
	w.Without = []string{rank.ChannelVector, rank.StageRelevance, "rescue"}
	keep := func(language, content string) string {
		return w.keep(w.p, schema.VisibilityPrivate, schema.MemoryRecord{Type: schema.TypeEpisodic, Content: content,
			Language: language, Payload: []byte(`{"kind":"episodic","timeline":[]}`)}).String()
	}
	german, spanish := keep("de", "Die Häuser am Fluss gehören der Stadt Köln"), keep("es", "Las casas están pintadas")
	swedish := keep("sv", "Husen målades i går")
	for question, id := range map[string]string{"Häuser": german, "Wem gehören die Häuser am Fluss?": german,
		"Köln": german, "casas pintadas": spanish, "Husen": swedish} {
		out := w.recall(question)
		require.NotEmpty(t, out.Results, question)
		require.Equal(t, id, out.Results[0].ID, question)
	}
	require.Greater(t, w.recall("der Stadt Köln gehören die Häuser").Results[0].Channels[rank.ChannelText], 0.9,
		"the function words of a language are no unknown words")
	require.Len(t, w.recall("when does the ferry leave").Results, 1)
}

// Chinese, Japanese and Korean have no or few spaces. A memory is found by pairs of neighbouring characters.
func TestMemoriesInLanguagesWithoutSpacesAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Without = []string{rank.ChannelVector}
	cat, meeting := w.remember("我的猫叫小白，今年三岁。"), w.remember("我们下周三下午两点开会讨论预算。")
	database := w.remember("数据库从MySQL迁移到了PostgreSQL。")
	sister, trip := w.remember("私の妹は大阪に住んでいます。"), w.remember("来週の金曜日に東京へ出張します。")
	korean := w.remember("우리 고양이는 우유를 좋아해요.")
	w.remember("The ferry leaves at nine")
	for question, id := range map[string]uuid.UUID{
		"猫叫什么名字？": cat, "什么时候讨论预算？": meeting, "猫": cat, "数据库现在用什么？": database, "MySQL": database,
		"妹はどこに住んでいますか？": sister, "出張はいつですか？": trip, "고양이가 무엇을 좋아해요?": korean,
	} {
		out := w.recall(question)
		require.NotEmpty(t, out.Results, question)
		require.Equal(t, id.String(), out.Results[0].ID, question)
	}
	require.Len(t, w.recall("when does the ferry leave").Results, 1)
}

// The language of what was said is told by its words.
func TestTheLanguageOfAMemoryIsRecognised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("The ferry leaves at nine")
	w.Without = []string{rank.ChannelVector, "rescue"}
	require.Len(t, w.recall("when does the ferry leave").Results, 1)
	meetings := w.remember("Unsere Besprechungen finden montags um neun Uhr statt.")
	invoices := w.remember("Las facturas de los clientes se pagan a treinta días.")
	dog := w.remember("Mi perro se llama Toby y tiene cuatro años.")
	w.remember("The mi band belongs to the gym")
	for question, id := range map[string]uuid.UUID{
		"Wann ist die Besprechung?": meetings, "¿Cuándo se paga la factura de un cliente?": invoices,
		"¿Cómo se llama mi perro?": dog,
	} {
		out := w.recall(question)
		require.NotEmpty(t, out.Results, "%s: just after a recall in English", question)
		require.Equal(t, id.String(), out.Results[0].ID, question)
	}
	require.Greater(t, w.recall("¿Cómo se llama mi perro?").Results[0].Channels[rank.ChannelText], 0.9,
		"a function word of Spanish has no weight, although an English memory has it")
}
