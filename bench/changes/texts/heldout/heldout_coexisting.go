package heldout

// Coexisting holds pairs of statements that do not change each other, for the held-out half.
const Coexisting = `
kind: family
values: Antwerp | Malaga | Tallinn | Brno | Lille
a: The elder son of {p} moved to {v}. || Where did the elder son of {p} move to?
b: The younger son of {p} moved to {w}. || Where did the younger son of {p} move to?

kind: family
a: {p}'s mum goes by Trude. || What does {p}'s mum go by?
b: {p}'s aunt goes by Hella. || What does {p}'s aunt go by?

kind: family
values: a baker | a bus driver | a judge | a florist
a: {p}'s husband is {v}. || What is the job of {p}'s husband?
b: {p}'s brother-in-law is {w}. || What is the job of {p}'s brother-in-law?

kind: pets
a: One of {p}'s guinea pigs is called Plum, the brown one. || What is {p}'s brown guinea pig called?
b: {p}'s white guinea pig is called Fig. || What is {p}'s white guinea pig called?

kind: different services
values: 4 seconds | 9 seconds | 12 seconds | 33 seconds
a: {x} gives up on a request after {v}. || After how long does {x} give up on a request?
b: {y} gives up on a request after {w}. || After how long does {y} give up on a request?

kind: different services
values: Kotlin | Elixir | Scala | Ruby
a: {x} has been rewritten in {v}. || What has {x} been rewritten in?
b: {y} has been rewritten in {w}. || What has {y} been rewritten in?

kind: different services
values: Hamburg | Lyon | Milan | Warsaw
a: The team of {x} sits in {v}. || Where does the team of {x} sit?
b: The team of {y} sits in {w}. || Where does the team of {y} sit?

kind: different services
a: We switched {x} over to structured logs. || What did we switch {x} over to?
b: We switched {y} over to tracing. || What did we switch {y} over to?

kind: different services
values: 2 pods | 5 pods | 7 pods | 9 pods
a: ~{x} now has {v} || How many pods does {x} have?
b: ~{y} now has {w} || How many pods does {y} have?

kind: different people
values: Wednesday | Thursday | Friday
a: {p} has {v} off. || Which day does {p} have off?
b: {q} has {w} off. || Which day does {q} have off?

kind: different people
values: decaf | cappuccino | flat white | mint tea
a: ~coffee round: {p} takes a {v} || What does {p} take in the coffee round?
b: ~coffee round: {q} takes a {w} || What does {q} take in the coffee round?

kind: different people
values: ballet | judo | ceramics | carpentry
a: {p} took up {v} this year. || What did {p} take up this year?
b: {q} took up {w} this year. || What did {q} take up this year?

kind: different people
a: {p} stopped eating pork. || What did {p} stop eating?
b: {q} stopped eating cheese. || What did {q} stop eating?

kind: different people
values: a scooter | a tandem | a camper van | a moped
a: {p} bought {v} second-hand. || What did {p} buy second-hand?
b: {q} bought {w} second-hand. || What did {q} buy second-hand?

kind: tastes
a: {p} can't stand olives. || What does {p} think of olives?
b: {p} can't stand karaoke. || What does {p} think of karaoke?

kind: tastes
a: {p} adores crime novels. || Does {p} like crime novels?
b: {p} adores roller coasters. || Does {p} like roller coasters?

kind: tastes
a: For films {p} prefers westerns. || What kind of films does {p} prefer?
b: For music {p} prefers fado. || What kind of music does {p} prefer?

kind: tastes
a: On pizza {p} wants capers. || What does {p} want on pizza?
b: In salad {p} wants radishes. || What does {p} want in salad?

kind: stages
values: 256 MB | 512 MB | 768 MB | 2 GB
a: On the test system {x} gets {v} of memory. || How much memory does {x} get on the test system?
b: On the live system {x} gets {w} of memory. || How much memory does {x} get on the live system?

kind: stages
a: The preview build of {x} is unsigned. || Is the preview build of {x} signed?
b: The store build of {x} is signed by the release key. || What is the store build of {x} signed by?

kind: stages
values: 15 minutes | 40 minutes | 2 hours | 6 hours
a: Sessions in the sandbox of {x} last {v}. || How long do sessions in the sandbox of {x} last?
b: Sessions in the live system of {x} last {w}. || How long do sessions in the live system of {x} last?

kind: seasons
values: 7 am | 8 am | 10 am | 11 am
a: In summer the pool opens at {v}. || When does the pool open in summer?
b: In winter the pool opens at {w}. || When does the pool open in winter?

kind: seasons
a: {p} spends Christmas in the mountains. || Where does {p} spend Christmas?
b: {p} spends Easter by the sea. || Where does {p} spend Easter?

kind: seasons
a: The cabin is heated with wood in January. || How is the cabin heated in January?
b: The cabin is let to guests in July. || What happens with the cabin in July?

kind: days
values: football | homework club | chess | swimming
a: On Mondays {p}'s kid has {v}. || What does {p}'s kid have on Mondays?
b: On Wednesdays {p}'s kid has {w}. || What does {p}'s kid have on Wednesdays?

kind: days
a: Paper is collected on the first Tuesday. || When is paper collected?
b: Glass is collected on the last Friday. || When is glass collected?

kind: conditions
a: Under 50 euros {p} may order without asking. || What may {p} do under 50 euros?
b: Over 50 euros {p} needs a signature. || What does {p} need over 50 euros?

kind: conditions
a: With children {p} takes the early train. || Which train does {p} take with children?
b: Without children {p} takes the sleeper. || Which train does {p} take without children?

kind: conditions
a: Hotfixes of {x} go out at any hour. || When do hotfixes of {x} go out?
b: Regular changes of {x} go out before lunch. || When do regular changes of {x} go out?

kind: several
a: {p} has a degree in botany. || Does {p} have a degree in botany?
b: {p} has a degree in statistics. || Does {p} have a degree in statistics?

kind: several
a: {p} plays in a brass band. || Does {p} play in a brass band?
b: {p} plays in a string quartet. || Does {p} play in a string quartet?

kind: several
a: {x} writes to an audit table. || Does {x} write to an audit table?
b: {x} writes to a search index. || Does {x} write to a search index?

kind: several
a: {p} knows sign language. || Does {p} know sign language?
b: {p} knows shorthand. || Does {p} know shorthand?

kind: several
a: {p} has run the marathon in Berlin. || Has {p} run the marathon in Berlin?
b: {p} has run the marathon in Boston. || Has {p} run the marathon in Boston?

kind: rooms
values: oak | cork | slate | linoleum
a: {p}'s hallway has a floor of {v}. || What is the floor of {p}'s hallway made of?
b: {p}'s study has a floor of {w}. || What is the floor of {p}'s study made of?

kind: rooms
a: Bikes of the tenants go into the left cellar. || Where do the bikes of the tenants go?
b: Prams of the tenants go under the stairs. || Where do the prams of the tenants go?

kind: initiatives
values: February 8 | March 29 | July 7 | November 2
a: Initiative Walnut goes live on {v}. || When does initiative Walnut go live?
b: Initiative Hazelnut goes live on {w}. || When does initiative Hazelnut go live?

kind: initiatives
a: {p} took over the budget of initiative Almond. || Who took over the budget of initiative Almond?
b: {q} took over the budget of initiative Cashew. || Who took over the budget of initiative Cashew?

kind: initiatives
a: Initiative Acorn dropped its newsletter. || What did initiative Acorn drop?
b: Initiative Chestnut dropped its podcast. || What did initiative Chestnut drop?

kind: directions
values: 14 hours | 3 hours | 9 hours | 6 hours
a: The ferry out takes {v}. || How long does the ferry out take?
b: The ferry back takes {w}. || How long does the ferry back take?

kind: directions
values: 90 euros | 120 euros | 45 euros | 60 euros
a: {p}'s ticket there cost {v}. || What did {p}'s ticket there cost?
b: {p}'s ticket home cost {w}. || What did {p}'s ticket home cost?

kind: measures
values: 38 | 41 | 43 | 45
a: For hiking boots {p} takes size {v}. || What size does {p} take for hiking boots?
b: For ski boots {p} takes size {w}. || What size does {p} take for ski boots?

kind: then and now
a: As a child {p} collected coins. || What did {p} collect as a child?
b: {p} restores old radios. || What does {p} restore?

kind: duties
a: {p} waters the plants in the office. || Who waters the plants in the office?
b: {q} feeds the fish in the office. || Who feeds the fish in the office?
`
