package english

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// foreign has frequent words of other languages with Latin letters that are no English words: pronouns, articles, forms
// of "be" and "have", and question words. Particles of names ("de", "la", "van") are left out.
var foreign = Words(
	// Spanish, Portuguese
	`dónde donde cuándo cuando cuál cual cuáles cuales quién quien qué cómo como cuánto cuánta cuántos cuántas soy eres
	estoy está están tengo tiene tienes mi mis tu tus su sus yo él ella nosotros ellos una unos unas por para con sin
	pero muy onde quando qual quais quem quê porquê quanto quantos sou está estou tenho tem meu minha meus minhas seu
	sua eu você ele ela nós eles uma um dos das não sim com sem`,
	// French, Italian
	`où quand quel quelle quels quelles qui comment pourquoi combien est suis sont ai avons ont mon ma mes ton ta tes
	notre nos votre vos je il elle nous vous ils elles une les des du ce cette ces avec sans pas dans chez mais dove
	quale quali chi cosa perché quanto quanti sono sei siamo hai abbiamo hanno mio mia miei mie tuo tua suo sua io lui
	lei noi voi loro una uno gli della dello degli nella nel che con senza non`,
	// German, Dutch
	`wo wann welche welcher welches welchen wer wem wen wie warum wieviel wohin woher ich bist ist sind habe hast haben
	mein meine meinen meiner meinem dein deine sein seine ihr ihre wir sie es der das den dem ein eine einen einem einer
	und oder nicht mit ohne für auf aus bei nach seit zum zur waar wanneer welk welke wie waarom hoeveel ik ben bent zijn
	heb hebt heeft hebben mijn jouw onze wij zij het een niet met zonder voor naar`,
	// Danish, Norwegian, Swedish, Finnish
	`hvor hvornår hvilken hvilket hvem hvad hvorfor hvordan jeg mit mine din dit vores ikke med og når hvilke hva hvorfor
	vår är jag vilken vilket vem vad varför hur när mitt mina ditt och inte missä milloin mikä kuka miksi miten minä minun
	olen ovat ja ei`,
	// Polish, Czech, Hungarian, Romanian, Turkish, Indonesian
	`gdzie kiedy który która które kto dlaczego jak jest są mam mój moja moje jestem nie kde kdy který která kdo proč
	jsem jsi mám můj moje není hol mikor melyik ki miért hogyan vagyok az egy nem és unde când care cine cum sunt este
	meu mea mele nerede nereye hangi neden nasıl ben benim bir ve değil nerede di mana kapan siapa apa bagaimana saya
	aku adalah yang tidak`,
)

// shared has English words that are frequent in another language, too.
var shared = Words("a am an as do has he her in is me on so to was will")

// IsForeign reports whether a text is probably in another language with Latin letters: it has more of the frequent
// words of these than of English, of which shared words count half. Texts without such words are not foreign.
func IsForeign(text string) bool {
	other, own := 0, 0
	for w := range strings.FieldsFuncSeq(strings.ToLower(norm.NFC.String(text)), func(r rune) bool {
		return !unicode.IsLetter(r)
	}) {
		switch {
		case shared[w]:
			own++
		case Articles[w], Possessives[w], Prepositions[w], Conjunctions[w], Pronouns[w], QuestionWords[w], Auxiliaries[w]:
			own += 2
		case foreign[w]:
			other += 2
		}
	}
	return other > own
}
