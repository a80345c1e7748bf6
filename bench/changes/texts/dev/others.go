package dev

// Distractors holds statements about other things, some with the question that they answer.
const Distractors = `
The printer on the third floor jams with thick paper. || What is wrong with the printer on the third floor?
{p} found a wallet in the car park and handed it in. || Who found a wallet in the car park?
We saw two herons at the pond on Sunday. || What did we see at the pond?
The invoice from the plumber was 340 euros. || What did the plumber cost us?
I read a biography of Marie Curie on the train. || About which scientist was the biography that I read?
{p} broke the coffee machine and ordered a spare part. || Who is to blame that there is no coffee?
The bakery at the corner is closed on Wednesdays. || When can't I buy bread nearby?
The blue folder holds the insurance papers. || Where are the insurance papers?
{p} gave a talk about compilers at the meetup. || What did {p} talk about at the meetup?
My passport expires in October 2029. || Until when is my passport valid?
The lift was out of order for three days. || How long was the lift broken?
The certificate for the test domain was renewed by hand. || How was the certificate for the test domain renewed?
{p} painted the fence dark green. || What colour did {p} paint the fence?
The neighbours complained about the drum lessons. || What annoys the people next door?
I planted tomatoes and basil on the balcony. || What grows on my balcony?
The load test failed at 4000 users because of a lock. || Why did the load test fail?
The wifi password of the cabin is on the fridge. || Where is the wifi password of the cabin?
{p} lost the tennis match against the club champion. || Who lost the tennis match against the club champion?
The vet said the cat has to lose a kilo. || What did the vet say about the cat?
I bought a second-hand telescope for 90 euros. || How much was the telescope?
The outage in August was caused by an expired token. || Why was everything down in August?
{p} brought a walnut cake to the farewell party. || Who baked for the farewell?
The museum ticket is valid for two visits. || For how many visits is the museum ticket valid?
The washing machine leaves stains on white shirts. || What is the problem with the washing machine?
We had soup because the oven was broken. || Why did we have soup?
{p} wrote the parser in a single afternoon. || Who is the author of the parser?
The roof of the shed leaks near the window. || Where does the roof of the shed leak?
I sent the tax return by registered mail. || By which kind of post did the tax return go?
The designer asked for larger margins on the invoice. || What did the designer ask for?
{p} adopted the habit of writing minutes by hand. || How does {p} write minutes?
The fire drill took eleven minutes. || How many minutes were we outside for the fire drill?
The old oak in the yard was struck by lightning. || What happened to the old oak?
I owe {p} twenty euros for the theatre ticket. || How much money does {p} get from me?
The customer in Basel wants invoices in French. || In which language does the customer in Basel want invoices?
Someone parked in front of the garage again. || What was parked where it should not be?
The nightly backup filled the disk on Tuesday. || Why was there no space left on the disk?
{p} collects stamps from South America. || What does {p} collect?
The tiles for the bathroom arrive in two parcels. || In how many parcels do the tiles arrive?
I forgot my umbrella in the cinema. || Where is my umbrella?
The interview candidate had written a chess engine. || What had the interview candidate written?
{p} sprained an ankle while jogging. || Which injury does {p} have?
The heating makes a knocking noise at night. || What noise does the heating make?
We agreed that error messages never contain content. || What must error messages never contain?
The garden hose is stored behind the greenhouse. || Where is the garden hose stored?
I watched a documentary about glaciers. || What was the documentary about that I watched?
{p} translated the manual into Polish. || Who made the Polish version of the manual?
The conference badge opens the side door. || What opens the side door?
The parcel for {p} is at the post office. || Where can {p} pick up the package?
The soup needs more pepper next time. || What does the soup need next time?
I dropped my glasses and the left lens cracked. || Which lens of my glasses cracked?
The dashboard shows the error rate in red. || In which colour does the dashboard show the error rate?
{p} won a voucher in the raffle. || What did {p} win in the raffle?
The bridge on the way to the lake is closed until the autumn. || Until when is the bridge to the lake closed?
My grandmother's clock strikes thirteen at noon. || How often does my grandmother's clock strike at noon?
The crash happened only with file names over 255 bytes. || With which file names did the crash happen?
The librarian recommended a novel by Kadare. || Which author did the librarian recommend?
{p} fixed the memory leak in the image resizer. || Who solved the memory problem of the image resizer?
The plane to Athens was delayed by two hours. || How late was the plane to Athens?
I pay for the newspaper every quarter. || How often do I pay for the newspaper?
The snow blocked the road to the cabin in January. || What blocked the road to the cabin?
{p} wants a quiet table for the anniversary dinner. || What kind of table does {p} want for the anniversary dinner?
The stairs to the cellar are slippery. || Which stairs are slippery?
The survey got 212 answers. || How many people took part in the survey?
I borrowed a drill from {p}. || What did I borrow from {p}?
The jam turned out too sweet. || How did the jam turn out?
The intern from Madrid stays for six months. || How long does the intern from Madrid stay?
{p} has a scar above the left eyebrow. || Where does {p} have a scar?
The concert was sold out within an hour. || How quickly were the tickets for the concert gone?
The blinds in the corner office are stuck. || What is stuck in the corner office?
We keep the emergency torch under the sink. || Where do we keep the emergency torch?
The accountant needs the receipts as PDF files. || In which form does the accountant need the receipts?
{p} proposed a reading group about type theory. || Who proposed a reading group?
The kettle switches off too early. || What is wrong with the kettle?
I lost 40 euros at the card game. || How much did I lose at the card game?
The choir rehearses the requiem for November. || What does the choir rehearse for November?
The fence between the gardens is 1.80 metres high. || How high is the fence between the gardens?
{p} overslept and missed the ferry. || What made {p} too late for the ferry?
The sample data contain no real names. || What do the sample data not contain?
I found a recipe for saffron rice. || For what did I find a recipe?
The new benches in the park are made of larch. || What are the benches in the park made of?
The audit found four unused accounts. || What was the result of the audit?
{p} carved a bowl out of cherry wood. || What did {p} carve?
The lake freezes over in most winters. || When does the lake freeze over?
A hedgehog lives under the compost heap. || Which animal do we have in the garden?
The elevator music annoys the visitors. || What annoys the visitors?
I keep the sourdough in a stone jar. || In what do I keep the sourdough?
{p} asked the landlord for a bicycle rack. || What did {p} ask the landlord for?
The radio drama is broadcast in nine parts. || In how many parts is the radio drama broadcast?
The rental van has no spare wheel. || What does the rental van not have?
The trail to the summit is marked in yellow. || In which colour is the trail to the summit marked?
We used 60 litres of paint for the stairwell. || How much paint did we use for the stairwell?
The puppet theatre plays in the old mill. || Where does the puppet theatre play?
{p} repaired the accordion of the music school. || What did {p} repair?
The seller threw in a second battery for free. || What did the seller throw in?
My tooth hurt after the cold lemonade. || When did my tooth hurt?
The auditor stayed at the hotel by the station. || Which hotel did the auditor sleep in?
The kiln reaches 1200 degrees. || What temperature can the kiln reach?
The moths ate a hole in the grey coat. || What did the moths eat a hole in?
{p} sold the canoe to a student. || Who is the owner of {p}'s old canoe?
The gravel for the path weighs two tonnes. || How much does the gravel weigh?
The sundial is wrong by half an hour in summer. || By how much is the sundial wrong in summer?
I sew my own curtains. || What do I sew myself?
The apprentice cut the shelf too short. || Who cut the shelf too short?
The honey comes from a beekeeper in the next village. || Where does the honey come from?
The exhibition catalogue has 300 pages. || How many pages does the exhibition catalogue have?
`

// Unheard has questions about things that were never said.
const Unheard = `
What is {p}'s shoe size?
When is {p}'s birthday?
What is {p}'s blood type?
Which football club does {p} support?
Where did {p} go on honeymoon?
What is my bank account number?
Which dentist do I go to?
What was {p}'s mark in mathematics?
How tall is {p}?
What is the name of {p}'s grandfather?
Which perfume does {p} use?
What did I give {p} for Christmas?
Which airline does {p} prefer?
What is the code of my bicycle lock?
Which shampoo do I buy?
Which party did {p} vote for?
How much does {p} earn?
What is the licence plate of {p}'s scooter?
Which hospital was {p} born in?
What is my library card number?
`

// Foreign asks about topics that no statement mentions.
const Foreign = `
Tell me about quasars.
Who painted the ceiling of the Sistine Chapel?
How do vaccines work?
What is the boiling point of mercury?
Which treaty ended the Thirty Years' War?
How many moons does Jupiter have?
What is the plot of Hamlet?
How is concrete made?
Who invented the transistor?
What is the national anthem of Uruguay?
How do I tune a carburettor?
What are the rules of cricket?
How deep is the Mariana Trench?
What is a Fourier transform?
Which kings ruled Portugal in the fifteenth century?
How do penguins keep warm?
What does a notary do?
Explain the offside trap.
How is cheese aged?
What causes the northern lights?
When was the Suez Canal opened?
What is the difference between an alligator and a crocodile?
How do I fold a paper crane?
Which enzymes digest starch?
`
