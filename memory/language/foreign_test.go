package language

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsForeign(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"¿Dónde vivo?", "¿Cuál es mi comida favorita?", "¿Qué tipo de coche tengo?", "¿Quién dirige el equipo?",
		"Onde eu moro?", "Qual é o meu carro?", "Où est-ce que j'habite ?", "Quelle est ma couleur préférée ?",
		"Qui dirige l'équipe ?", "Dove abito?", "Qual è il mio colore preferito?", "Wo wohne ich?",
		"Was ist meine Lieblingsfarbe?", "Wer leitet das Team?", "Was mag ich?", "Waar woon ik?", "Wat is mijn auto?",
		"Hvor bor jeg?", "Hvilken bil har jeg?", "När flyttade jag till Oslo?", "Vilken bil har jag?", "Missä asun? Mikä on autoni?",
		"Gdzie mieszkam?", "Kde bydlím?", "Hol lakom?", "Unde locuiesc?", "Nerede yaşıyorum?", "Bagaimana saya pulang?",
	} {
		require.True(t, IsForeign(text), text)
	}
	for _, text := range []string{
		"", "Where do I live?", "What is Zoë's favourite café?", "When did I go to Rio de Janeiro?", "deployment port",
		"Who did Die Ärzte play with?", "Which dish from La Casa de Maria do I like?", "Is Jan in Den Haag?",
		"What is my son's name?", "quasars", "How was the Mona Lisa described?", "Rio de Janeiro trip", "ERR_MODULE_NOT_FOUND",
		"AI budget", "SIM card PIN", "example.com port", "MIT license", "health care plan", "non-stick pan", "IST meeting",
		"comment style", "Ben's birthday", "Ella birthday party", "sans serif font", "MS-DOS manual", "bent pipe",
		"the port of the api", "What does 'wie geht es dir' mean?", "How do I say où in English?",
	} {
		require.False(t, IsForeign(text), text)
	}
}
