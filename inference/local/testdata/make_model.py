"""Writes a BERT sentence model as the ONNX directory that the local embedder reads.

    make_model.py tiny OUT           a model of a few kilobytes with fixed pseudo-random weights
    make_model.py convert DIR OUT    the weights in DIR/model.safetensors, with DIR's other files
    make_model.py golden DIR FILE    token ids and vectors of some texts, from onnxruntime and tokenizers

Needs Python 3 with numpy and onnx; convert needs safetensors too, golden onnxruntime and tokenizers.
The files in this folder were made with:

    python make_model.py tiny tiny && python make_model.py golden tiny golden.json
"""
import json, os, shutil, sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.n = [], [], 0

    def const(self, value, name=None):
        self.n += 1
        name = name or f"c{self.n}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *inputs, **attributes):
        self.n += 1
        out = f"{kind.lower()}{self.n}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out


def bert(config, weight):
    """weight(name) returns the tensor of the Hugging Face BERT checkpoint with that name."""
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    size, eps = hidden // heads, config["layer_norm_eps"]
    g = Graph()

    def norm(x, name):
        return g.op("LayerNormalization", x, g.const(weight(name + ".weight")), g.const(weight(name + ".bias")), axis=-1, epsilon=eps)

    def dense(x, name):
        y = g.op("MatMul", x, g.const(np.ascontiguousarray(weight(name + ".weight").T)))
        return g.op("Add", y, g.const(weight(name + ".bias")))

    words = g.op("Gather", g.const(weight("embeddings.word_embeddings.weight")), "input_ids")
    kinds = g.op("Gather", g.const(weight("embeddings.token_type_embeddings.weight")), "token_type_ids")
    length = g.op("Slice", g.op("Shape", "input_ids"), g.const(np.array([1])), g.const(np.array([2])))
    places = g.op("Slice", g.const(weight("embeddings.position_embeddings.weight")), g.const(np.array([0])), length, g.const(np.array([0])))
    x = norm(g.op("Add", g.op("Add", words, kinds), places), "embeddings.LayerNorm")

    mask = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.const(np.array([1, 2]))), to=TensorProto.FLOAT)
    mask = g.op("Mul", g.op("Sub", g.const(np.float32(1)), mask), g.const(np.float32(-1e9)))
    split, merge = g.const(np.array([0, 0, heads, size])), g.const(np.array([0, 0, hidden]))
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."

        def head(name, perm):
            return g.op("Transpose", g.op("Reshape", dense(x, layer + "attention.self." + name), split), perm=perm)

        q, k, v = head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1]), head("value", [0, 2, 1, 3])
        scores = g.op("Div", g.op("MatMul", q, k), g.const(np.float32(size**0.5)))
        share = g.op("Softmax", g.op("Add", scores, mask), axis=-1)
        seen = g.op("Reshape", g.op("Transpose", g.op("MatMul", share, v), perm=[0, 2, 1, 3]), merge)
        x = norm(g.op("Add", x, dense(seen, layer + "attention.output.dense")), layer + "attention.output.LayerNorm")
        y = dense(x, layer + "intermediate.dense")
        erf = g.op("Erf", g.op("Div", y, g.const(np.float32(2**0.5))))
        y = g.op("Mul", g.op("Mul", y, g.op("Add", erf, g.const(np.float32(1)))), g.const(np.float32(0.5)))
        x = norm(g.op("Add", x, dense(y, layer + "output.dense")), layer + "output.LayerNorm")
    g.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))

    tokens = ["batch", "sequence"]
    graph = helper.make_graph(
        g.nodes, "bert",
        [helper.make_tensor_value_info(n, TensorProto.INT64, tokens) for n in ("input_ids", "attention_mask", "token_type_ids")],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, tokens + [hidden])], g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


def tiny(out):
    """Two layers of 16 numbers, two heads, 64 positions; a word list with the letters to spell the rest."""
    words = "the a of to in is it and you for on with was are what who where when cat dog sat mat rain sun coffee tea likes lives"
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = special + words.split()
    vocab += [c for c in letters + ".,:?!'-" if c not in vocab]
    vocab += ["##" + c for c in letters]
    config = {
        "model_type": "bert", "_name_or_path": "mneme/tiny", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32, "layer_norm_eps": 1e-12, "max_position_embeddings": 64, "pad_token_id": 0,
        "type_vocab_size": 2, "vocab_size": len(vocab),
    }
    shapes = {"word_embeddings": len(vocab), "token_type_embeddings": 2, "position_embeddings": 64}
    state = np.random.RandomState(7)

    def weight(name):
        part = name.split(".")[-2]
        if part == "LayerNorm":
            return np.ones(16, np.float32) if name.endswith("weight") else np.zeros(16, np.float32)
        if part in shapes:
            scale = 0.1 if part == "position_embeddings" else 1.0
            return (state.standard_normal((shapes[part], 16)) * scale).astype(np.float32)
        wide = "intermediate" in name
        rows, columns = (32, 16) if wide else (16, 32) if "attention" not in name else (16, 16)
        if name.endswith("bias"):
            return np.zeros(rows, np.float32)
        return (state.standard_normal((rows, columns)) * 0.3).astype(np.float32)

    os.makedirs(out, exist_ok=True)
    onnx.save(bert(config, weight), os.path.join(out, "model.onnx"))
    write(out + "/config.json", config)
    write(out + "/sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})
    write(out + "/1_Pooling/config.json", {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
    write(out + "/modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])

    def token(name):
        return {"id": name, "ids": [vocab.index(name)], "tokens": [name]}

    def piece(name):
        return {"SpecialToken": {"id": name, "type_id": 0}}

    write(out + "/tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "special": True, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
                         for i, t in enumerate(special)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": [piece("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, piece("[SEP]")],
                           "pair": [piece("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, piece("[SEP]"),
                                    {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
                           "special_tokens": {"[CLS]": token("[CLS]"), "[SEP]": token("[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {t: i for i, t in enumerate(vocab)}}})


def convert(source, out):
    from safetensors.numpy import load_file
    tensors = {k.removeprefix("bert."): v.astype(np.float32) if v.dtype != np.int64 else v
               for k, v in load_file(os.path.join(source, "model.safetensors")).items()}
    with open(os.path.join(source, "config.json")) as f:
        config = json.load(f)
    shutil.copytree(source, out, ignore=shutil.ignore_patterns("model.safetensors", "*.bin", "data_config.json", ".git*"), dirs_exist_ok=True)
    onnx.save(bert(config, lambda name: tensors[name]), os.path.join(out, "model.onnx"))


TEXTS = [
    "the cat sat on the mat", "Who likes coffee?", "café naïve Ångström ÉCOLE", "a\u0301ccent", "tabs\tand\nlines\u00a0nbsp", "日本語 text",
    "한국어", "مرحبا", "ὈΔΥΣΣΕΎΣ", "İstanbul ß ẞ", "emoji 🎉 party", "don't can't co-operate", "$100 50% #tag @you", "\u200bzero\u200bwidth",
    "hello\u0000world\ufffdend", "…—“quotes”", "①②", "x" * 99, "x" * 101, "rain " * 60, "", "   ", ".", "a",
]


def golden(source, out):
    import onnxruntime
    from tokenizers import Tokenizer
    with open(source + "/sentence_bert_config.json") as f:
        limit = json.load(f)["max_seq_length"]
    tokenizer = Tokenizer.from_file(source + "/tokenizer.json")
    tokenizer.enable_truncation(limit)
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(source + "/model.onnx")
    rows = []
    for text in TEXTS:
        ids = np.array([tokenizer.encode(text).ids])
        tokens = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0][0]
        mean, cls = tokens.mean(axis=0), tokens[0]
        rows.append({"text": text, "ids": ids[0].tolist(), "mean": [round(float(x), 6) for x in mean / np.linalg.norm(mean)],
                     "cls": [round(float(x), 6) for x in cls / np.linalg.norm(cls)]})
    with open(out, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    {"tiny": tiny, "convert": convert, "golden": golden}[sys.argv[1]](*sys.argv[2:])
