"""Writes kinds.bin, the kinds of things that package lexicon embeds: a violin is an instrument.

    make_kinds.py WORDNET WORDS OUT

WORDNET  the directory with index.noun, data.noun and cntlist.rev of Debian's package wordnet-base
WORDS    words.bin, which make_lexicon.py wrote
OUT      kinds.bin

kinds.bin has a line for each word that is a noun of WordNet or is in kinds.txt: the word, and the kinds that it
belongs to, as numbers. After an empty line it has the words that name a kind, with the numbers of their kinds. Kinds
with more than LARGEST words say little and are left out, as are kinds with fewer than two. The third part has the
plurals of such words, each with its singular.

Needs Python 3.
"""
import gzip, os, re, struct, sys

LARGEST = 1500  # words of a kind
SENSES = 2  # senses of a word that count
SHARE = 0.3  # least frequency of a sense, as a share of the most frequent one
NAMED = 0.05  # the same for a word that names a kind
NOUNS = 0.15  # least share of a word's uses as a noun
FREQUENT = 5_000  # rank up to which a word that is not only a noun must have been counted as one in WordNet's texts
PLURALS = (("s", ""), ("es", ""), ("ies", "y"))


def read_words(path):
    data = gzip.decompress(open(path, "rb").read())
    _, _, size = struct.unpack("<III", data[:12])
    return data[12 : 12 + size].decode().split("\n")


def read_wordnet(folder):
    """Returns the senses of each noun, most frequent first, the sets above each set, the names, the uses of each sense of
    a noun, and the words that are another part of speech too, with their uses as that."""
    senses, above, names, others = {}, {}, set(), {}
    for part in "verb", "adj", "adv":
        for line in open(os.path.join(folder, f"index.{part}")):
            others[line.split(" ")[0]] = 0
    for line in open(os.path.join(folder, "index.noun")):
        if line[0] != " ":
            fields = line.split()
            senses[fields[0]] = fields[-int(fields[2]) :]
    for line in open(os.path.join(folder, "data.noun")):
        if line[0] == " ":
            continue
        fields = line.split(" ")
        n = int(fields[3], 16)
        if all(w[0].isupper() for w in fields[4 : 4 + 2 * n : 2]):
            names.add(fields[0])
        pointers = fields[5 + 2 * n :]
        above[fields[0]] = [pointers[k + 1] for k in range(0, 4 * int(fields[4 + 2 * n]), 4) if pointers[k] in ("@", "@i")]
    uses = {}
    for line in open(os.path.join(folder, "cntlist.rev")):
        key, number, count = line.split()
        lemma, rest = key.split("%")
        if rest[0] == "1":
            uses[lemma, int(number)] = int(count)
        else:
            others[lemma] = others.get(lemma, 0) + int(count)
    return senses, above, names, uses, others


def main(wordnet, table, out):
    words = read_words(table)
    senses, above, names, uses, others = read_wordnet(wordnet)
    rank = {w: i for i, w in enumerate(words)}
    person = senses["person"][0]
    here = os.path.dirname(os.path.abspath(__file__))

    def ancestors(sense, found):
        for up in above[sense]:
            if up not in found:
                found.add(up)
                ancestors(up, found)
        return found

    def common(word):
        """The senses of a word that are used: rare ones only mislead."""
        own = senses.get(word, [])
        counts = [uses.get((word, i + 1), 0) for i in range(len(own))]
        most = max(counts, default=0)
        if sum(counts) < NOUNS * (sum(counts) + others.get(word, 0)):
            return []
        if most == 0 and rank[word] < FREQUENT:
            proper = [s for s in own if s in names]
            return proper[:1] if proper or word in others else own[:1]
        return [s for i, s in enumerate(own[:SENSES]) if i == 0 or uses.get((word, i + 1), 0) >= SHARE * most]

    kinds = {w: set() for w in words}
    for w in words:
        for s in common(w):
            found = ancestors(s, {s})
            if s not in names or person not in found:  # "Armstrong" is not a profession
                kinds[w] |= found
    named = {}  # the sets that a word names as a kind
    for w in words:
        if w in senses:
            most = max(uses.get((w, i + 1), 0) for i in range(len(senses[w])))
            named[w] = {s for i, s in enumerate(senses[w]) if i == 0 or uses.get((w, i + 1), 0) > NAMED * most}
    for line in open(os.path.join(here, "kinds.txt")):
        line = line.split("#")[0].strip()
        if not line:
            continue
        names, members = (part.split() for part in line.split(":"))
        key = "own:" + names[0].rstrip("!")
        for name in names:
            if name.endswith("!"):  # instead of what WordNet says
                named[name.rstrip("!")] = {key}
            else:
                named.setdefault(name, set()).add(key)
        for m in members:
            if m.startswith("="):  # all that WordNet puts below this set: =animal.1
                word, number = m[1:].rsplit(".", 1)
                top = senses[word][int(number) - 1]
                for w in words:
                    if top in kinds[w]:
                        kinds[w].add(key)
            elif m in kinds:
                kinds[m].add(key)
    size = {}
    for w in words:
        for k in kinds[w]:
            size[k] = size.get(k, 0) + 1
    kept = {k for k, n in size.items() if 2 <= n <= LARGEST} & set().union(*named.values())
    number = {k: i for i, k in enumerate(sorted(kept, key=lambda k: (-size[k], k)))}
    lines = []
    for w in words:
        own = sorted(number[k] for k in kinds[w] if k in number)
        if own:
            lines.append(w + " " + " ".join(map(str, own)))
    lines.append("")
    for w in words:
        own = sorted(number[k] for k in named.get(w, ()) if k in number)
        if own:
            lines.append(w + " " + " ".join(map(str, own)))
    have = {line.split(" ")[0] for line in lines if line}
    lines.append("")
    for w in words:
        for ending, base in PLURALS:
            one = w[: len(w) - len(ending)] + base
            if w not in have and w.endswith(ending) and one in have:
                lines.append(w + " " + one)
                break
    with open(out, "wb") as f:
        f.write(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    print(len(number), "kinds,", len(lines) - 2, "lines,", os.path.getsize(out), "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
