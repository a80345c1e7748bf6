package language

import "github.com/mneme/mneme/memory/english"

// Frequent words of other languages with Latin letters that are neither English words nor names, and no abbreviations
// or parts of host names.
var (
	foreignQuestions = english.Words(
		// Spanish, Portuguese, French, Italian
		`dónde cuándo cuál cuáles quién quiénes qué cómo cuánto cuánta cuántos cuántas onde quando qual quais quem quê
		quanto quantos où qui quand quel quelle quels quelles pourquoi combien dove quale quali cosa perché quanti`,
		// German, Dutch, Danish, Norwegian, Swedish, Finnish
		`wann welche welcher welches welchen wer wem wen wie wo warum wieviel wohin woher waar wanneer welk welke waarom
		hoeveel hoe wat hvor hvornår hvilken hvilket hvem hvad hvorfor hvordan hva vilken vilket vem varför missä
		milloin mikä kuka miksi miten`,
		// Polish, Czech, Hungarian, Romanian, Turkish, Indonesian
		`gdzie kiedy który która które kto dlaczego kde kdy který proč hol mikor melyik miért hogyan unde când cine
		nerede nereye hangi neden nasıl kapan siapa bagaimana`,
	)
	foreignWords = english.Words(
		`soy eres estoy está están tengo tiene tienes nosotros ellos unas por para pero muy sou estou tenho tem meu minha
		meus minhas seu você ele elas nós eles uma não suis sommes avons ont notre votre nous vous ils elles une
		cette ces avec pas dans sono siamo abbiamo hanno miei mie tuo tua suo gli della dello degli nella nel che`,
		`ich bist sind habe haben mein meine meinen meiner meinem dein deine seine ihr ihre wir eine einen einem einer
		und oder nicht ohne für auf bei nach seit zum zur ik zijn heb hebt heeft hebben mijn jouw onze wij zij het een
		niet zonder voor naar jeg vores ikke når vår är jag när ditt och inte minä minun olen ovat je jij`,
		`jak są mam mój moja moje jestem nie jsem jsi mám můj není vagyok egy sunt este meu benim değil saya adalah yang
		tidak`,
	)
)

// shared has English words that are frequent in another language, too.
var shared = english.Words("a am an as do has he her in is me on so to was will")

// IsForeign reports whether a text, also a short question, seems to be in any other language with Latin letters: it
// has a question word or two frequent words of other languages, and more such words than English ones. A shared word
// counts as half an English one.
func IsForeign(text string) bool {
	other, own, words, asks := 0, 0, 0, false
	for w := range wordsOf(text) {
		switch {
		case shared[w]:
			own++
			words++
		case english.Articles[w], english.Possessives[w], english.Prepositions[w], english.Conjunctions[w],
			english.Pronouns[w], english.QuestionWords[w],
			english.Auxiliaries[w]:
			own += 2
		case foreignQuestions[w]:
			asks = true
			other += 2
		case foreignWords[w]:
			words++
			other += 2
		}
	}
	return other > own && (asks || words >= 2)
}
