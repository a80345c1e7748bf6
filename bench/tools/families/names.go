package families

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// names returns the names that differ between two tasks of a family.
type names struct {
	r    *rand.Rand
	from []string
	used map[string]bool
}

func newNames(r *rand.Rand, from []string) *names { return &names{r, from, map[string]bool{}} }

// word is a name that this task has not had.
func (n *names) word() string {
	for {
		w := n.from[n.r.IntN(len(n.from))]
		if n.r.IntN(4) == 0 {
			w += fmt.Sprint(2 + n.r.IntN(8))
		}
		if !n.used[w] {
			n.used[w] = true
			return w
		}
	}
}

// snake is a name of one or two words, as C and Python write it.
func (n *names) snake() string {
	if n.r.IntN(2) == 0 {
		return n.word()
	}
	return n.word() + "_" + n.word()
}

// dashed is a name of one or two words, as directories and branches have it.
func (n *names) dashed() string { return strings.ReplaceAll(n.snake(), "_", "-") }

// camel is a name of one or two words, as Go writes it.
func (n *names) camel() string {
	w := n.word()
	if n.r.IntN(2) == 0 {
		second := n.word()
		w += strings.ToUpper(second[:1]) + second[1:]
	}
	return w
}

// exported is a name of Go that other packages see.
func (n *names) exported() string {
	w := n.camel()
	return strings.ToUpper(w[:1]) + w[1:]
}

// dir is a directory, one or two levels deep.
func (n *names) dir() string {
	if n.r.IntN(2) == 0 {
		return n.dashed()
	}
	return n.word() + "/" + n.dashed()
}

func (n *names) one(of ...string) string { return of[n.r.IntN(len(of))] }

func (n *names) number() int { return 2 + n.r.IntN(900) }

func (n *names) version() string {
	return fmt.Sprintf("%d.%d.%d", n.r.IntN(4), n.r.IntN(30), n.r.IntN(10))
}

// words are those of each set of families.
var words = map[string][]string{
	"dev": strings.Fields(`amber bridge candle delta ember falcon garnet harbor island jasper kettle lantern meadow
		nectar orchid pepper quartz ribbon saddle timber`),
	"reported": strings.Fields(`account basket courier deposit estimate freight grocer hangar invoice jetty kiosk ledger
		mailer notary outlet parcel quota receipt shelf tariff usher voucher warden yard`),
	"fresh": strings.Fields(`acorn badger cedar dune elk fern glacier heron iris juniper kelp lagoon moss newt otter
		plover quail reed salmon thistle urchin vole willow yarrow`),
	"later": strings.Fields(`anvil bellows chisel dowel easel flask girder hinge ingot jigsaw kiln lathe mallet nozzle
		oven pulley rivet spindle trowel vise winch yoke`),
	"further": strings.Fields(`almond barley cumin dill endive fennel ginger hazel jicama kale lentil mustard nutmeg
		olive parsley radish saffron turnip vanilla walnut yam zucchini`),
	"last": strings.Fields(`anchor bosun capstan davit estuary fathom galley halyard inlet jib keel leeward mast nautical
		oar pontoon quay rudder sextant tiller undertow vessel windlass yawl`),
	"blind": strings.Fields(`alto bassoon cello descant etude fugue gavotte harp intermezzo jig kazoo lute madrigal
		nocturne oboe piccolo quartet rondo sonata tuba ukulele viola waltz zither`),
	"situations": strings.Fields(`aspen birch cassia dogwood ebony ficus guava hickory ilex juniper karri larch mahogany
		nutwood osage poplar quince rowan sequoia tamarind umber viburnum wenge yew zelkova`),
	"unseen": strings.Fields(`alcove balcony cellar dormer eaves foyer gable hallway inglenook joist keystone lintel
		mantel niche oriel pantry rafter scullery turret veranda wicket atrium buttress cupola`),
	"third": strings.Fields(`agate basalt chalk dolomite eclogite feldspar gneiss hornfels ignimbrite kaolin limonite
		marble obsidian pumice quartzite rhyolite slate talc tuff breccia gypsum shale zircon opal`),
	"fourth": strings.Fields(`alpaca brocade calico damask eyelet flannel gabardine hessian ikat jersey khaki lace muslin
		nankeen organza percale ramie sateen twill velvet worsted taffeta tweed poplin`),
	"fifth": strings.Fields(`albedo apogee asteroid aurora azimuth cepheid comet corona cosmos eclipse equinox galaxy halo
		meteor nebula nova orbit parallax perigee pulsar quasar solstice umbra zenith`),
}
