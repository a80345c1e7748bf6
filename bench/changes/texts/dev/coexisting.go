package dev

// Coexisting holds pairs of statements that do not change each other.
const Coexisting = `
kind: siblings
values: Leeds | Graz | Ghent | Turin | Bilbao
a: {p}'s brother lives in {v}. || Where does {p}'s brother live?
b: {p}'s sister lives in {w}. || Where does {p}'s sister live?

kind: siblings
a: {p} has a brother called Nils. || What is the name of {p}'s brother?
b: {p} has a sister called Maren. || What is the name of {p}'s sister?

kind: siblings
a: {p}'s older sister is a nurse. || What does {p}'s older sister do?
b: {p}'s younger sister is a pilot. || What does {p}'s younger sister do?

kind: two services
values: 8081 | 8082 | 9191 | 9292 | 7171
a: {x} listens on port {v}. || Which port does {x} listen on?
b: {y} listens on port {w}. || Which port does {y} listen on?

kind: two services
values: Postgres | MySQL | Redis | MongoDB
a: {x} stores its data in {v}. || Which database does {x} use?
b: {y} stores its data in {w}. || Which database does {y} use?

kind: two services
values: 1.4 | 1.9 | 2.2 | 3.3
a: {x} is at version {v}. || Which version is {x} at?
b: {y} is at version {w}. || Which version is {y} at?

kind: two services
values: Go | Java | Python | Rust
a: {x} is written in {v}. || What language is {x} written in?
b: {y} is written in {w}. || What language is {y} written in?

kind: two people
values: Lisbon | Vienna | Zurich | Prague
a: {p} lives in {v}. || Where does {p} live?
b: {q} lives in {w}. || Where does {q} live?

kind: two people
values: Siemens | Nokia | Philips | Volvo
a: {p} works for {v}. || Who does {p} work for?
b: {q} works for {w}. || Who does {q} work for?

kind: two people
values: a violin | a cello | the drums | a harp
a: {p} plays {v}. || What instrument does {p} play?
b: {q} plays {w}. || What instrument does {q} play?

kind: two people
values: tea | coffee | mate | cocoa
a: {p} prefers {v} in the morning. || What does {p} prefer in the morning?
b: {q} prefers {w} in the morning. || What does {q} prefer in the morning?

kind: likes
a: {p} likes hiking. || Does {p} like hiking?
b: {p} likes opera. || Does {p} like opera?

kind: likes
a: {p} loves sushi. || Does {p} love sushi?
b: {p} loves lasagne. || Does {p} love lasagne?

kind: likes
a: {p} hates coriander. || Does {p} hate coriander?
b: {p} hates loud restaurants. || Does {p} hate loud restaurants?

kind: environments
values: 2 replicas | 4 replicas | 6 replicas | 8 replicas
a: {x} runs with {v} in staging. || How many replicas does {x} have in staging?
b: {x} runs with {w} in production. || How many replicas does {x} have in production?

kind: environments
values: debug | info | warn | error
a: In staging {x} logs at level {v}. || What is the log level of {x} in staging?
b: In production {x} logs at level {w}. || What is the log level of {x} in production?

kind: environments
values: Frankfurt | Dublin | Oregon | Tokyo
a: The staging cluster of {x} is in {v}. || Where is the staging cluster of {x}?
b: The production cluster of {x} is in {w}. || Where is the production cluster of {x}?

kind: times of the week
values: 6:15 | 6:45 | 7:30 | 9:15
a: {p} gets up at {v} on weekdays. || When does {p} get up on weekdays?
b: {p} gets up at {w} on weekends. || When does {p} get up on weekends?

kind: times of the week
a: The canteen closes at 14:30 on weekdays. || When does the canteen close on weekdays?
b: The canteen closes at 13:00 on Saturdays. || When does the canteen close on Saturdays?

kind: times of the week
a: {p} is in the office on Mondays and Tuesdays. || When is {p} in the office?
b: {p} works from home on Thursdays. || When does {p} work from home?

kind: conditions
a: When it rains, {p} takes the bus. || How does {p} travel when it rains?
b: When it is dry, {p} cycles. || How does {p} travel when it is dry?

kind: conditions
a: For small changes {x} needs one approval. || How many approvals does {x} need for small changes?
b: For schema changes {x} needs three approvals. || How many approvals does {x} need for schema changes?

kind: conditions
a: If the queue of {x} is over 1000, page the owner. || What do we do if the queue of {x} is over 1000?
b: If the queue of {x} is over 100, open a ticket. || What do we do if the queue of {x} is over 100?

kind: plural
a: {p} speaks Portuguese. || Does {p} speak Portuguese?
b: {p} speaks Dutch. || Does {p} speak Dutch?

kind: plural
a: {p} has a cat called Minka. || What is {p}'s cat called?
b: {p} has a horse called Juno. || What is {p}'s horse called?

kind: plural
a: {p} has visited Iceland. || Has {p} visited Iceland?
b: {p} has visited Morocco. || Has {p} visited Morocco?

kind: plural
a: {p} is allergic to pollen. || Is {p} allergic to pollen?
b: {p} is allergic to wasps. || Is {p} allergic to wasps?

kind: plural
a: {x} depends on Redis. || Does {x} depend on Redis?
b: {x} depends on Elasticsearch. || Does {x} depend on Elasticsearch?

kind: plural
a: {p} is a member of the choir. || Is {p} a member of the choir?
b: {p} is a member of the chess club. || Is {p} a member of the chess club?

kind: places
values: blue | white | green | yellow
a: {p}'s kitchen is painted {v}. || What colour is {p}'s kitchen?
b: {p}'s bedroom is painted {w}. || What colour is {p}'s bedroom?

kind: places
a: The Lisbon office has 40 desks. || How many desks does the Lisbon office have?
b: The Vienna office has 25 desks. || How many desks does the Vienna office have?

kind: places
a: The spare key of {p} is in the drawer. || Where is {p}'s spare key?
b: The car key of {p} is on the hook. || Where is {p}'s car key?

kind: projects
values: March 12 | April 9 | May 21 | June 4
a: The deadline of project Basalt is {v}. || What is the deadline of project Basalt?
b: The deadline of project Granite is {w}. || What is the deadline of project Granite?

kind: projects
a: {p} leads project Marble. || Who leads project Marble?
b: {q} leads project Slate. || Who leads project Slate?

kind: projects
a: Project Opal uses tabs for indentation. || What does project Opal use for indentation?
b: Project Topaz uses spaces for indentation. || What does project Topaz use for indentation?

kind: parts
values: 3 seconds | 5 seconds | 10 seconds | 30 seconds
a: The connect timeout of {x} is {v}. || What is the connect timeout of {x}?
b: The read timeout of {x} is {w}. || What is the read timeout of {x}?

kind: parts
values: 5432 | 6379 | 9000 | 9100
a: The metrics port of {x} is {v}. || What is the metrics port of {x}?
b: The admin port of {x} is {w}. || What is the admin port of {x}?

kind: parts
a: {p}'s work phone ends in 41. || What does {p}'s work phone end in?
b: {p}'s private phone ends in 87. || What does {p}'s private phone end in?

kind: past and present
a: {p} studied in Uppsala. || Where did {p} study?
b: {p} lives in Aarhus. || Where does {p} live?

kind: roles
a: {p} reviews database changes. || Who reviews database changes?
b: {q} reviews interface changes. || Who reviews interface changes?

kind: roles
a: {p} is the treasurer of the club. || Who is the treasurer of the club?
b: {q} is the secretary of the club. || Who is the secretary of the club?
`
