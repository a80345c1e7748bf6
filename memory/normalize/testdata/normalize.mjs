// The formulas of document 002 "Content Normalization" as they stand, in JavaScript. Prints the
// vectors that package memory is tested with; `node normalize.mjs > normalize.json` after adding one.
import { createHash } from "node:crypto";

const contents = {
  "empty": "",
  "whitespace only": " \t\r\n\u00a0\u3000\ufeff ",
  "plain": "User prefers dark mode",
  "case and full stop": "USER PREFERS DARK MODE.",
  "tabs": "\tuser\t\tprefers\tdark mode\t",
  "mixed newlines": "line one\r\nline two\rline three\n\n\u2028line four\u2029end",
  "vertical tab and form feed": "a\vb\fc",
  "no-break space": "10\u00a0000\u202fkm",
  "ideographic space": "\u3000東京\u3000タワー\u3000",
  "typographic spaces": "a\u1680b\u2000c\u2003d\u200ae\u205ff",
  "byte order mark": "\ufeffhello\ufeffworld\ufeff",
  "next line is not whitespace": "a\u0085b\u0085",
  "zero-width space is not whitespace": "\u200bzero\u200bwidth\u200b",
  "exclamation marks only": "!!!",
  "question mark only": " ? ",
  "trailing interrobang": "Really?!",
  "trailing punctuation run": "Wait for it...;:,",
  "inner punctuation stays": "e.g. a, b; c: d! e? f",
  "space before the full stop stays": "the end .",
  "typographic full stop stays": "the end\u3002",
  "quoted full stop stays": "He said \"stop.\"",
  "sharp s": "Straße",
  "capital sharp s": "STRA\u1e9eE",
  "turkish dotted capital i": "İstanbul",
  "turkish dotless i": "IŞIK ışık",
  "greek final sigma": "ΟΔΥΣΣΕΥΣ ΣΟΦΟΣ.",
  "greek sigma alone": "Σ",
  "titlecase digraph": "ǅ Ǆ",
  "deseret": "\u{10400}",
  "emoji": "Deploy 🚀 done 👩‍👩‍👧 👍🏽!",
  "combining marks": "Cafe\u0301 A\u030angstro\u0308m",
  "precomposed marks": "Caf\u00e9 \u00c5ngstr\u00f6m",
  "right to left": "שָׁלוֹם עולם!",
  "control characters stay": "a\u0001b\u001fc",
  "replacement character": "bad \ufffd byte",
};

const vectors = Object.entries(contents).map(([name, content]) => {
  const storage = content.trim().replace(/\s+/g, " ");
  const normalized = storage.toLowerCase().replace(/[.,!?;:]+$/, "");
  const basis = normalized || storage.toLowerCase();
  return { name, content, storage, normalized, hash: createHash("sha256").update(basis, "utf8").digest("hex") };
});

// Escaped, because most of what matters here cannot be seen.
const ascii = (s) => s.replace(/[^\x20-\x7e\n]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
console.log(ascii(JSON.stringify(vectors, null, 2)));
