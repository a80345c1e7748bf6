package english

import (
	"strings"
)

// irregular maps irregular forms, which the stemmer does not join, to their base.
var irregular = func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(irregularForms) {
		forms := strings.Fields(line)
		for _, form := range forms {
			out[form] = forms[0]
		}
	}
	return out
}()

const irregularForms = `
be am is are was were been being
do does did done doing
have has had having
go goes went gone going
become became
begin began begun
break broke broken breaking
bring brought
build built
rebuild rebuilt
rewrite rewrote rewritten rewriting
redo redid redone
buy bought
catch caught
choose chose chosen
come came
cut cutting cuts
deal dealt
draw drew drawn
drink drank drunk
drive drove driven driving
eat ate eaten
fall fell fallen
feel felt
find found
fly flew flown
forget forgot forgotten
get got gotten getting
give gave given giving
grow grew grown
hand handed hands
hang hung
hear heard
hide hid hidden
hold held
increase upped
keep kept
know knew known
lead led leads leading leader
leave left leaving
lend lent
lose lost losing
make made making
mow mowed mown
bend bent
bite bit bitten
bleed bled
blow blew blown
burn burnt
dig dug
dream dreamt
feed fed
fight fought
flee fled
freeze froze frozen
learn learnt
light lit
overcome overcame
oversleep overslept
ring rang rung
seek sought
shake shook shaken
shine shone
shoot shot
show shown
slide slid
spill spilt
spin spun
spoil spoilt
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
tear tore torn
undergo underwent
mean meant
meet met
move moved moving moves
pay paid
put putting
quit quitting quits
read
ride rode ridden
rise rose risen
run ran running
say said
see saw seen
sell sold
send sent
set setting sets
shift shifted shifting
shrink shrank shrunk
shut shutting
sing sang sung
sit sat sitting
sleep slept
slip slipped slipping
speak spoke spoken
spend spent
stand stood
stop stopped stopping stops
swap swapped swapping swaps
swim swam swum
take took taken taking
teach taught
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
withdraw withdrew withdrawn
write wrote written writing
child children kids kid
person people
wife wives
mom mum mother mama
dad father papa
favorite favourite favorites favourites
color colour
organization organisation
`
