package changes

import "strings"

// Names of subjects. A tenant uses each of them at most once. A slash separates a person from the pronoun.
var (
	relatives = strings.Split("my sister/she|my brother/he|my mother/she|my father/he|my cousin/she|"+
		"my neighbour/he|my aunt/she|my flatmate/he", "|")
	serviceNames = strings.Split("the ledger service|the checkout service|the billing API|the mobile app|"+
		"the search service|the gateway|the notification service|the reporting job|"+
		"the catalogue service|the identity service|the inventory service|"+
		"the admin panel|the pricing engine|the shipping service|"+
		"the analytics pipeline|the partner portal|the chat backend|the media service|"+
		"the scheduler|the fraud detector|the import job|the public website|"+
		"the recommendation service|the tax service|the invoice service|"+
		"the webhook relay|the booking API|the audit service|the loyalty service|"+
		"the address service|the refund service|the voucher service|"+
		"the translation service|the thumbnail service|the export job|the survey tool|"+
		"the payroll system|the warehouse app|the driver app|the kiosk software|"+
		"the data lake|the feature store|the mail gateway|the rating service|"+
		"the stock service|the wallet service|the claims service|the quote engine|"+
		"the event archive|the session service|the document store|the geocoder|"+
		"the currency service|the dunning job|the newsletter tool|the ticket widget|"+
		"the status page|the sandbox|the crawler|the label printer service", "|")
	teamNames = strings.Split("Atlas|Kestrel|Nimbus|Orion|Falcon|Delta|Aurora|Phoenix|Cobalt|Juniper|Sequoia|"+
		"Quartz|Lyra|Heron|Mistral|Cedar", "|")
)

// devNames are the names of people in the development half, with their pronouns.
var devNames = strings.Split("Dana/she|Priyanka/she|Tomas/he|Yara/she|Owen/he|Lucia/she|Marek/he|Sofia/she|"+
	"Hugo/he|Nadia/she|Emil/he|Ruth/she|Paulo/he|Greta/she|Ivan/he|Mei/she|"+
	"Arthur/he|Zoe/she|Karim/he|Linda/she|Oscar/he|Fatima/she|Simon/he|Elena/she|"+
	"Bernd/he|Anita/she|Jorge/he|Tessa/she|Viktor/he|Monica/she|Adam/he|Ines/she|"+
	"Leon/he|Vera/she|Ahmed/he|Clara/she|Pavel/he|Judith/she|Bruce/he|Nina/she|"+
	"Omar/he|Petra/she|Ken/he|Mara/she|Ivo/he|Alice/she|Rolf/he|Diana/she", "|")

// heldoutNames are the names of people in the held-out half, with their pronouns.
var heldoutNames = strings.Split("Astrid/she|Benedikt/he|Chiara/she|Dorian/he|Edda/she|Fabio/he|Gwen/she|"+
	"Hamid/he|Isolde/she|Jakub/he|Keiko/she|Lars/he|Mirela/she|Nikolai/he|"+
	"Odile/she|Pascal/he|Quinn/she|Renzo/he|Svea/she|Tariq/he|Ursula/she|"+
	"Vincent/he|Wilma/she|Xaver/he|Yvette/she|Zoltan/he|Adaeze/she|Bram/he|"+
	"Ciara/she|Dimitar/he|Elif/she|Fergus/he|Gudrun/she|Haruki/he|Imogen/she|"+
	"Joaquin/he|Kaja/she|Lorcan/he|Maeve/she|Niamh/she|Oriol/he|Pilar/she|"+
	"Ragnar/he|Saoirse/she|Thabo/he|Uma/she|Valentin/he|Winnie/she|Yann/he|"+
	"Zuzana/she", "|")
