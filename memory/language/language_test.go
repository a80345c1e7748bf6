package language

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ich wohne in München und arbeite bei Siemens.":              "de",
		"Unsere Besprechungen finden montags um neun Uhr statt.":     "de",
		"Die Häuser am Fluss wurden renoviert.":                      "de",
		"J'habite à Lyon avec mes deux enfants.":                     "fr",
		"Les réunions de l'équipe ont lieu le jeudi.":                "fr",
		"Vivo en Valencia con mi hermana.":                           "es",
		"La reunión del presupuesto es el martes a las diez.":        "es",
		"Migramos la base de datos a PostgreSQL el lunes.":           "es",
		"Abito a Torino con la mia famiglia e il cane.":              "it",
		"Le fatture sono pagate dalla banca entro la fine del mese.": "it",
		"Eu moro em Lisboa com a minha irmã.":                        "pt",
		"A reunião do orçamento é na terça-feira e não na quarta.":   "pt",
		"Ik woon in Utrecht en werk bij een bank.":                   "nl",
		"De vergadering over het budget is op dinsdag.":              "nl",
		"I live in Porto.": English,
		"The die was cast, so we met at the bar in Los Angeles.":           English,
		"Das Auto is my favourite podcast and I listen to it on my way in": English,
		"We use Go.":                          English,
		"Postgres 17":                         English,
		"Die Hard is on at nine.":             English,
		"las vegas":                           English,
		"":                                    English,
		"我住在上海。":                              English,
		"ERROR: no such file or directory: e": English,
		"Husen målades i går":                 English,
	} {
		require.Equal(t, want, Of(text), text)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"¿Cómo se llama mi perro?":              "llama perro?",
		"Quand a lieu la réunion de l'équipe ?": "lieu réunion équipe ?",
		"Wann kommt die Version 1.26 von Go?":   "kommt Version 1.26 Go?",
		"Where does my dog live?":               "",
		"¿Quién es?":                            "",
	} {
		require.Equal(t, want, Content(text), text)
	}
}

// English texts with a few words that are function words elsewhere stay English.
func TestOfEnglish(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Feels like a dream come true!", "James's week's been good.", "Art's allowed Caroline to explore Caroline's art",
		"Can't imagine John's life without it, it's John's passion.", "- **Day 2**: Buy non-perishable items in bulk.",
		"- **Format:** Available in print, e-book.", "New Time: 4 PM ET on March 29", "Draft section on AI improvements",
		"Los Angeles and La Paz", "The goal is met",
	} {
		require.Equal(t, English, Of(text), text)
	}
}
