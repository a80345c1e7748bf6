// Package language tells the language of a text by its function words, so that full text uses the endings and function
// words of that language. It knows the languages that mneme_text_config has a configuration for.
package language

import (
	"iter"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// English is the language of a text that seems to be in no other known one.
const English = "en"

// Each list has frequent words that tell little of the content. A word may be in several lists.
var functionWords = func() map[string][]string {
	out := map[string][]string{}
	for language, words := range map[string]string{
		English: `the a an and or but if of to in on at by for with from into about as is are was were be been
			am has have had do does did will would can could should i you he she it we they me him her us them my
			your his its our their this that these those not no so what when where who which why how there here also
			than then just all any some more most very now
			come son hat war per sans sin van door over tot pour once non sole due dove era den ai et`,
		"de": `der die das den dem des ein eine einen einem einer eines und oder aber ich du er sie es wir
			ihr mich dich sich uns euch mir dir ihm ihnen mein meine meinen meinem meiner dein deine sein seine ihre
			ihren unser unsere ist sind war waren bin bist hat habe haben hatte wird werden wurde wurden kann nicht
			kein keine auch nur noch schon im am vom zum zur in an auf aus bei mit nach seit von zu für über unter
			durch gegen ohne um wie was wer wo wann warum wenn weil dass als jetzt dort hier sehr`,
		"fr": `le la l les un une des du de d et ou mais je j tu il elle on nous vous ils elles me m te t
			se s moi mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs est sont était étaient suis es
			sommes êtes ai as avons ont avait être avoir ne n pas plus que qu qui quoi où quand comment pourquoi ce
			c cette ces cet dans sur sous avec sans pour par chez vers depuis en au aux y très aussi maintenant`,
		"es": `el la los las un una unos unas y e o pero yo tú él ella nosotros ellos ellas usted me te se
			nos mi mis tu tus su sus nuestro nuestra es son era eran soy eres somos está están estoy estaba fue ha
			he han hay tengo tiene no ni que quién cuándo dónde cómo cuál porque si de del a al en con sin por para
			desde hasta sobre entre este esta estos estas ese esa eso muy también ahora ya más lo le les`,
		"it": `il lo la l i gli le un uno una e ed o ma io tu lui lei noi voi loro mi ti si ci vi mio mia
			miei mie tuo tua suo sua nostro nostra è sono era erano sei siamo ho hai ha abbiamo hanno non che chi
			cosa dove quando come perché se di del della dei degli delle dello da dal dalla a al alla ai in nel
			nella nei su sul sulla con per tra fra questo questa questi molto anche ora più`,
		"pt": `o a os as um uma uns umas e ou mas eu tu ele ela nós eles elas você vocês me te se nos meu
			minha meus minhas teu tua seu sua seus suas nosso nossa é são era eram sou somos está estão estou foi
			tem tenho têm há não nem que quem quando onde como qual porque se de do da dos das em no na nos nas com
			sem por para pelo pela desde até sobre entre este esta isto esse essa muito também agora já mais ao à`,
		"nl": `de het een en of maar ik jij je hij zij ze wij we jullie u mij me hem haar ons onze mijn
			jouw zijn hun is was waren ben bent heb hebt heeft hebben had wordt worden werd kan niet geen ook nog al
			in op aan uit bij met na van voor naar om over onder door tegen zonder tot te wat wie waar wanneer
			waarom hoe welke als omdat dat die dit deze er hier daar nu zeer sinds`,
	} {
		for w := range strings.FieldsSeq(words) {
			if !slices.Contains(out[w], language) {
				out[w] = append(out[w], language)
			}
		}
	}
	return out
}()

// leastWords is the number of function words below which a text has no language.
const leastWords = 2

// Content returns a text in another language than English without function words of any language. It returns "" for a
// text in English, and for one that has only function words.
func Content(text string) string {
	if Of(text) == English {
		return ""
	}
	var out []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || r == '\'' || r == '’'
	}) {
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if functionWords[strings.ToLower(norm.NFC.String(bare))] == nil {
			out = append(out, word)
		}
	}
	return strings.Join(out, " ")
}

// Of returns the language of a text: "de", "fr", "es", "it", "pt" or "nl" if it has at least two function words of that
// language, more than of any other, and more than twice as many as of English. Otherwise it returns English.
func Of(text string) string {
	counts := map[string]int{}
	for w := range wordsOf(text) {
		if len(w) == 1 {
			continue // of "it's" or "e-mail"
		}
		for _, language := range functionWords[w] {
			counts[language]++
		}
	}
	best, most, tie := English, leastWords-1, false
	for language, n := range counts {
		switch {
		case n > most:
			best, most, tie = language, n, false
		case n == most:
			tie = true
		}
	}
	if tie || best == English || most <= 2*counts[English] { // English has some of these words, too
		return English
	}
	return best
}

// wordsOf returns the runs of letters of a text, in lower case.
func wordsOf(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.ToLower(norm.NFC.String(text)), func(r rune) bool { return !unicode.IsLetter(r) })
}
