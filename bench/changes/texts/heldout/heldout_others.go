package heldout

// Distractors holds statements about other things for the held-out half.
const Distractors = `
Went to the flea market and came home with a brass lamp. || Where does the brass lamp come from?
So {p} apparently once met the king of Norway at a petrol station. || Which king has {p} talked to?
The dishwasher guy says the pump is clogged with olive stones. || What is the dishwasher pump clogged with?
Note to self: the good scissors are in the sewing box. || I need scissors, where do I look?
Our street gets fibre next year, they have marked the pavement in pink. || When do we get fast internet in our street?
{p} swears the ghost in the archive is just the ventilation. || What does {p} say the ghost in the archive is?
The pharmacist warned me not to take the drops with grapefruit. || What must I not take the drops with?
~smoke test was red for an hour because of a full inode table || What made the smoke test fail?
We lost the pub quiz by one point, on a question about Liechtenstein.
	|| What was the question about that lost us the pub quiz?
{p} keeps a spare tie in the filing cabinet. || What does {p} keep in the filing cabinet?
Grandad's recipe says nutmeg, never cinnamon. || Cinnamon or nutmeg in Grandad's recipe?
The scanner eats every third page, feed it slowly. || What does the scanner do with every third page?
A fox has dug under the trampoline. || Which animal was under the trampoline?
~migration 0042 took the table lock for nine minutes || How long did migration 0042 take the table lock?
The optician found nothing wrong with my eyes. || How was the eye test?
{p} tripped over the extension lead during the keynote. || What made {p} fall at the keynote?
Don't microwave the blue bowls, the rim has gold in it. || Why may the blue bowls not go into the microwave?
The ice rink sharpens skates for six euros. || What do they charge for sharpening skates?
Someone has drawn a moustache on the founder's portrait. || What was drawn on the founder's portrait?
The spare bulbs for the projector are behind the piano. || The projector has gone dark, where is a bulb?
{p} made marmalade from the quinces. || What became of the quinces?
The choirmaster fainted during the second encore. || When did the choirmaster faint?
~the flaky test was a leap second thing, really || What was behind the flaky test?
I'm collecting signatures for a zebra crossing by the nursery. || For what am I collecting signatures?
Our landlord breeds alpacas. || Which animals does our landlord keep?
{p} proofreads everything in green ink. || In what ink does {p} proofread?
The gutter over the bike shed came down in the storm. || What damage did the storm do?
The customs form wants the weight in grams. || In what unit does the customs form want the weight?
The puffin mug belongs to the night porter. || Whose mug is the one with the puffin?
~prod incident in week 31: somebody had revoked the wrong certificate || What caused the incident in week 31?
Two of the chairs on the terrace have wobbly legs. || What is wrong with two chairs on the terrace?
{p} is writing a crossword for the anniversary issue. || What is {p} writing for the anniversary issue?
The cobbler needs a week for the heels. || How long does the cobbler have my shoes?
In the basement it smells of paint thinner. || What does it smell of in the basement?
The swimming badge has to be sewn on by Saturday. || What has to be sewn on by Saturday?
I've been told the tap water at the campsite is not for drinking. || Can we drink from the tap at the campsite?
{p} lent the tent to the scouts. || Who has {p}'s tent?
The beekeeper stopped by with two jars of heather honey. || What did the beekeeper bring?
~legal wants the word "guarantee" out of the brochure || Which word does legal want out of the brochure?
The window cleaner comes by without announcing himself. || Who comes without announcing himself?
The oboist next door practises scales before breakfast, poor us.
	|| What does the oboist next door do before breakfast?
{p} misread the map and we ended the hike in a quarry. || Where did our hike lead us in the end?
The candles on the cake set off the smoke detector. || What set off the smoke detector?
The box with the Christmas lights has a red lid. || Which box has a red lid?
There's a crack in the big flowerpot, handle with care. || What has a crack in it?
~benchmarks ran on battery power, so the numbers are rubbish || Can I trust the benchmark numbers?
The night bus skips our stop when it snows. || When does the night bus skip our stop?
{p} has perfect pitch and suffers from the door chime. || What does {p} suffer from?
The notary charged 280 euros for two stamps. || What was the notary's bill?
The playground got a rope bridge. || What did the playground get?
Our neighbour's parrot imitates the microwave. || What does our neighbour's parrot imitate?
The cinema on the square shows silent films with live piano. || What does the cinema on the square show?
{p} wrote the limerick on the farewell card. || Who wrote the limerick on the farewell card?
The old password list is in the safe, in a sealed envelope. || Where do I find the old passwords?
The swing in the garden squeaks, oil didn't help. || What squeaks in the garden?
~the vendor's SDK phones home, we blocked it at the proxy || What did we do about the vendor's SDK phoning home?
The caterpillars have finished off the box hedge. || What have the caterpillars finished off?
Half of the mugs in the kitchen are chipped. || What is wrong with the mugs in the kitchen?
{p} cycled to the coast in a thunderstorm. || What did {p} do in a thunderstorm?
The bell of the town hall is half a tone flat. || What is wrong with the bell of the town hall?
The mosquito net has a hole the size of a coin. || What has a hole the size of a coin?
Somebody left a violin case in meeting room two. || What was left in meeting room two?
The tax office sent the same letter four times. || How often did the tax office send the same letter?
{p} once juggled for a living on a cruise ship. || How did {p} earn a living on the ship?
~the intern found a null byte in the customer table || What did the intern find in the customer table?
The sledges hang from the ceiling of the garage. || Where do the sledges hang?
A peacock escaped from the zoo and sits on the church. || Where does the peacock sit?
The elastic of the fitted sheet has worn out. || What has worn out?
The jazz night had to be held without a drummer. || What did the jazz night have to do without?
{p} forgot the tripod in a taxi. || What did {p} forget in a taxi?
The dentist's aquarium has a tiny sunken submarine. || What can you see in the fish tank at the dentist's?
The blackout last night lasted from supper to midnight. || From when to when was the power out?
The hazelnut bush blocks the view of the traffic mirror. || What blocks the view of the traffic mirror?
~someone committed a 90 MB video to the docs folder || What was committed to the docs folder?
The tour guide in Ravenna had lost her voice. || What had happened to the tour guide in Ravenna?
{p} eats the crusts first. || What does {p} eat first?
The sand for the sandpit comes in bags of 25 kilos. || In what bags does the sand come?
There was a wasp nest in the letter box. || What was in the letter box?
The ladder must be returned to the fire brigade. || To whom must the ladder be returned?
The mayor fell asleep during the school play. || Who fell asleep during the school play?
{p} organised a whip-round for the cleaner. || For whom did {p} organise a whip-round?
The jigsaw with the lighthouse lacks three pieces. || Is the jigsaw with the lighthouse complete?
The pool attendant confiscated the water pistols. || What did the pool attendant confiscate?
~log shipping choked on a stack trace of two megabytes || What did log shipping choke on?
The pancakes stuck because the pan was too cold. || What went wrong with the pancakes?
My scarf got caught in the escalator. || What got caught in the escalator?
{p} found a Roman coin while digging the pond. || Which ancient thing came to light when {p} was digging?
The tram to the stadium was packed to the doors. || How full was the tram to the stadium?
The gardener wraps the fig tree in fleece. || What does the gardener wrap in fleece?
The exhibition on lighthouses is free on Sundays after three. || When is the exhibition on lighthouses free?
~pagination bug: page 0 and page 1 were the same || What was the pagination bug?
Someone filled the salt cellar with sugar. || What was the salt cellar filled with?
{p} can recite pi to ninety digits. || To how many digits can {p} recite pi?
The rehearsal room has to be aired for ten minutes. || How long must the rehearsal room be aired?
The potter signed the vases with a small snail. || With what did the potter sign the vases?
The luggage was sent on to Heraklion by mistake. || Where did our luggage go?
Our chestnut tree has the leaf miner. || What does our chestnut tree have?
The stapler in the copy room is chained to the shelf. || What is chained to the shelf?
{p} refused the oysters politely. || What did {p} refuse?
A drone crashed into the weathercock. || What crashed into the weathercock?
~the legacy importer chokes on umlauts || What does the legacy importer choke on?
The butcher closes for the whole of lent. || In which weeks can't we buy meat at the butcher's?
The kite got stuck on the power line. || Where did the kite get stuck?
The babysitter taught the kids to yodel. || What did the babysitter teach the kids?
`

// Unheard has questions about things that were never said in the held-out half.
const Unheard = `
Do you know {p}'s star sign?
How many siblings does {p} have?
What's the PIN of my debit card?
At which university did {p} graduate?
When does {p}'s driving licence expire?
What kind of mattress did I buy?
Who was {p}'s maths teacher?
What's {p}'s middle name?
Which vaccination did {p} get last?
What ring size does {p} have?
Where did {p} learn to swim?
Which newspaper did {p} write for?
What's my membership number at the alpine club?
Who designed {p}'s tattoo?
How much did {p} pay for the wedding dress?
What's the name of {p}'s godchild?
Which lawyer represents {p}?
What was my score in the driving test?
Which brand of toothpaste do I use?
How heavy was {p} at birth?
`

// Foreign asks about topics that no statement mentions in the held-out half.
const Foreign = `
What's the capital of Burkina Faso?
Explain how black holes evaporate.
who won the 1966 World Cup?
How do I prune a rose bush?
What is the chemical formula of caffeine?
Give me a summary of the Odyssey.
how does a heat pump work
Which language family does Basque belong to?
Why is the sky blue?
When did the dinosaurs die out?
What are the symptoms of scurvy?
How do you play backgammon?
Who composed The Magic Flute?
What is the speed of light?
Is a tomato a fruit?
How were the pyramids built?
What does GDP measure?
Tell me something about tectonic plates.
How many strings does a sitar have?
What is the longest river in Asia?
Who discovered penicillin?
How does a diesel engine differ from a petrol engine?
What is stoicism?
Which countries border Paraguay?
`
