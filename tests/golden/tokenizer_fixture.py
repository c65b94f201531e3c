#!/usr/bin/env python3
"""Makes the data for tokenizer_golden_test: ids from the Hugging Face `tokenizers` package.

    pip install tokenizers==0.23.3
    tests/golden/tokenizer_fixture.py [--real TOKENIZER_JSON]

The tests do not need the package; it is needed to make their data again. Written to tests/golden/data/tokenizer/:

tokenizer.json   a byte-level BPE of 4,000 entries, trained here on this repository's own text and on the strings below
strings.txt      the strings, a line each: CHECKSUM CHECKSUM TEXT. The checksums are those of the ids of tokenizer.json and
                 of the vocabulary given by --real (`-` without it). TEXT is escaped: \\\\, \\n, \\r, \\xHH for other bytes
                 below 0x20, 0x7F, and those that are no UTF-8; \\u{H…} for white space that an editor might change.
kinds.json       small tokenizers, each with one setting that is out of the ordinary, full ids of some texts, and the texts
                 of these ids (not where an added token has characters outside ASCII: the package decodes such a token as
                 if it were written in the byte alphabet, Drift as the text that it is)

A string that is no valid UTF-8 is given to the package as Python's decode("utf-8", errors="replace") reads it. Code points
that are not assigned in Unicode 14 are left out: the libraries' tables end at different versions. So are the combining
marks for which the package's normalisation, whose tables are older, differs from Python's.
"""

import argparse
import json
import pathlib
import random
import re
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "golden" / "data" / "tokenizer"
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")
SPECIAL = ["<|endoftext|>", "<|startoftext|>", "<|mask|>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>",
           "<|end_header_id|>", "<|eot_id|>", "[gMASK]"]
PLAIN = ["<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|repo_name|>"]
# What other vocabularies recognise: every special token occurs in the strings, in whichever vocabulary it is one.
OTHERS = ["<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>",
          "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<|fim_middle|>",
          "<|fim_suffix|>", "<|fim_pad|>", "<|file_sep|>", "<|beginoftext|>", "<|mdm_mask|>", "<role>", "</role>", "[CLS]",
          "<|reserved_token_0|>", "<think>", "</think>", "<tool_response>", "</tool_response>"]

rng = random.Random(20)


def pick(items):
    return items[rng.randrange(len(items))]


def some(items, low, high, join=""):
    return join.join(pick(items) for _ in range(rng.randint(low, high)))


# ---- alphabets and words -------------------------------------------------------------------------------------------

OLD_MARKS = None  # combining marks on which the package's normalisation and Python's agree


def assigned(first, last):
    return [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


def agreeing_marks():
    nfc = normalizers.NFC()
    probes = ("q\u0345{}", "q{}\u0334", "q{}\u0316", "q{}\u0300")
    return {chr(c) for c in range(0x300, 0x20000) if unicodedata.combining(chr(c)) and
            all(nfc.normalize_str(p.format(chr(c))) == unicodedata.normalize("NFC", p.format(chr(c))) for p in probes)}


def known(text):
    """Whether both libraries know every character of the text."""
    return all(unicodedata.category(c) != "Cn" and (not unicodedata.combining(c) or c in OLD_MARKS) for c in text)


WORDS = {
    "latin": "the model predicts masked tokens naïve façade élan coöperate smörgåsbord Ångström piñata Łódź žluťoučký "
             "kůň příliš Việt Nam tiếng đường İstanbul ığdır straße Größe œuvre ﬁn ﬂow ſo Kelvin Ωhm".split(),
    "greek": "λόγος ἀρχή ἦν ὁ πρὸς τὸν θεόν ᾧ ῥήματα ἐγώ εἰμι Ἀθῆναι ποταμός ΰ ΐ άνθρωπος ΣΟΦΙΑ σοφός".split(),
    "cyrillic": "модель предсказывает маску ёлка йод ѝ Ќирил ўчора ґанок їжак їзда вѣра съезд объект Ёж".split(),
    "arabic": "النموذج يتنبأ بالكلمة آمن أحمد إيمان مؤمن مئة شَمْسٌ قَلْبٌ كِتَابٌ ۀ ۂ ۓ ٱلله ٣٤٥".split(),
    "hebrew": "הַמּוֹדֶל מְנַבֵּא שָׁלוֹם עֲלֵיכֶם בְּרֵאשִׁית שׁ שׂ אַ אָ וֹ יִ תורה ספר".split(),
    "devanagari": "मॉडल शब्द क़लम ख़ुदा ग़ज़ल ज़मीन पड़ना पढ़ना फ़िल्म य़ ऩ ऱ ऴ क्षेत्र ज्ञान १२३".split(),
    "thai": "แบบจำลอง ทำนาย คำ ภาษาไทย น้ำ ก็ ที่ เปี๊ยก ๑๒๓ สวัสดี".split(),
    "indic": "মডেল ক়লম ড় ঢ় য় বাংলা ମଡେଲ ଡ଼ ଢ଼ மாதிரி கொ கோ கௌ മാതൃക കൊ കോ తెలుగు ಕನ್ನಡ ಕೋ සිංහල කේ".split(),
    "cjk": "模型 预测 掩码 模型預測 遮罩 日本語 がんばって パピプペポ が ぱ ヴ 豈 更 車 賈 滑 串 句 龜 神 福 。 、 「引用」".split(),
    "hangul": "모델이 마스크를 예측한다 한국어 각 갂 가나다 값 닭 없다 ㄱㄴㄷ ㅏㅑ".split(),
    "other": "ქართული Հայերեն አማርኛ ພາສາລາວ བོད་ཡིག ཀྵ ဗမာ ខ្មែរ ᏣᎳᎩ ᚠᚢᚦ 𐌰𐌱𐌲 𝔣𝔯𝔞𝔨 𝟏𝟐𝟑 ⅣⅤ ①② ½¾ Ⅷ ² ³".split(),
}
MARKS = [chr(c) for c in range(0x300, 0x34F)] + list("\u0591\u05b0\u05bc\u05c1\u064b\u0651\u0670\u093c\u094d\u0e38\u0e48"
                                                     "\u3099\u309a\u20d0\u20e3\u0327\u0323\u0307\u0328\u031b\u0338")
SPACES = list(" \t\u00a0\u1680\u2000\u2003\u2009\u200a\u202f\u205f\u3000")
NOT_QUITE_SPACES = list("\u180e\u200b\u200c\u200d\u2060\ufeff\u00ad")
NEWLINES = ["\n", "\r", "\r\n", "\n\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029"]
EMOJI = ("😀 😂 🥲 👍 👍🏽 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ 🇩🇪 🇯🇵 🇺🇸 1️⃣ #️⃣ ❤️ ❤ ☺️ ✈︎ 🧑🏿‍🚀 👩🏻‍❤️‍💋‍👨🏾 "
         "🫠 🤷‍♀️ ⚕️ ©️ ™ ㊙️ 🀄 🏴󠁧󠁢󠁥󠁮󠁧󠁿").split()
ZWJ_PARTS = list("👩👨🧑👧👦💻🚀❤🏽🏿") + ["\u200d", "\ufe0f", "\ufe0e", "\u20e3", "🇫", "🇷"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + list("«»“”‘’…–—·¡¿§¶†‡•‰′″€£¥₹±×÷≠≤≥∞∑∫√→⇒∀∃∈")
CONTRACTIONS = ["don't", "I'LL", "we've", "THEY'RE", "it's", "IT'S", "he'd", "I'm", "'tis", "o'clock", "'S", "'ſ", "x'ſt",
                "''s", "can't've", "'llama", "'remote", "rock'n'roll", "’s", "d'accord", "'\u212a", "'v", "'l"]
LATEX = [r"\frac{%s}{%s}", r"\sqrt{%s}", r"\sqrt[3]{%s}", r"\sum_{i=1}^{n} %s", r"\int_0^\infty %s\,d%s", r"$%s + %s$",
         r"\left( %s \right)", r"\boxed{%s}", r"\mathbb{E}_{%s}\left[%s\right]", r"\begin{align*} %s &= %s \\ \end{align*}",
         r"%s^{%s}", r"%s_{%s}", r"\text{%s}", r"\log p_\theta(%s \mid %s)", r"\[ %s \leq %s \]", r"\overline{%s}",
         r"\begin{pmatrix} %s & %s \\ %s & %s \end{pmatrix}", r"\cdot %s", r"%% %s", r"\$%s{,}%s", r"\operatorname{%s}"]
CODE = ["for (int i = 0; i < %s; ++i) {\n\t%s[i] += %s;\n}\n", "def %s(%s):\n    return %s\n", "if %s == %s:\n        pass\n",
        "#include <%s/%s.h>\r\n", "print(f\"{%s:>8.3f} %s\")", "SELECT %s FROM %s WHERE id=%s;", "%s->%s(%s)...",
        "std::vector<%s> %s{};  // %s", "{\"%s\": [%s, %s]}", "\t\t%s = %s;\n", "/* %s */", "$(%s) | grep -E '%s' >%s",
        "lambda %s: %s ** %s", "<div class=\"%s\">%s</div>", "%s::%s<%s>()", "0x%s, 0b%s", "@%s\n", "!%s && ~%s || %s",
        "a[%s:%s:%s]", "x%s+=%s--;", "```python\n%s\n```\n", "- [ ] %s\n- [x] %s\n", "| %s | %s |\n|---|---|\n"]


# ---- kinds of strings ----------------------------------------------------------------------------------------------

def filled(template, fill):
    return re.sub("%s", lambda _: fill(), template).replace("%%", "%")


def number():
    return pick([str(rng.randrange(10)), str(rng.randrange(10**6)), f"{rng.random() * 100:.2f}", "1,234,567", "-3", "1e-5", "0xFF"])


def identifier():
    return pick(["x", "y_2", "tokens_BL", "maxLen", "snake_case_name", "HTTPServer", "αβ", "i", "n", "self.value", "foo", number()])


def expression(depth=0):
    if depth > 2 or rng.random() < 0.4:
        return pick([identifier(), number(), r"\alpha", r"\theta", "x_i"])
    return filled(pick(LATEX), lambda: expression(depth + 1))


def source_lines():
    """Lines and blocks of this repository."""
    files = sorted(p for folder in ("core", "plugins", "docs", "configs", "scripts", "cmake")
                   for p in (ROOT / folder).rglob("*") if p.suffix in (".cpp", ".h", ".md", ".toml", ".cmake", ".txt", ""))
    lines = [line for p in files + [ROOT / "README.md"] if p.is_file() for line in p.read_text().splitlines(keepends=True)]
    while True:
        begin = rng.randrange(len(lines))
        text = "".join(lines[begin:begin + pick([1, 1, 1, 1, 2, 3])])
        if 0 < len(text) <= 200:
            yield text


def script_words(script):
    words = some(WORDS[script], 1, 7, " ")
    return unicodedata.normalize(pick(["NFC", "NFD", "NFC", "NFD"]), words) if rng.random() < 0.7 else words


def scattered_marks():
    base = list(some(list("aeiouAEnNcs<>=qα и가ก漢"), 1, 8))
    for _ in range(rng.randint(1, 8)):
        base.insert(rng.randint(1, len(base)), pick(MARKS))
    return "".join(base)


def jamo():
    syllable = lambda: chr(0x1100 + rng.randrange(19)) + chr(0x1161 + rng.randrange(21)) + (
        chr(0x11A8 + rng.randrange(27)) if rng.random() < 0.5 else "")
    odd = lambda: pick([chr(0xAC00 + 28 * rng.randrange(399)) + chr(0x11A8 + rng.randrange(27)), "\u1100\u1100\u1161", "\u115f\u1160",
                        "\uac01\u11a8", "\u1161", "\u11a7\uac00\u11a7"])
    return "".join(syllable() if rng.random() < 0.8 else odd() for _ in range(rng.randint(1, 5)))


def any_code_points():
    planes = [(0x20, 0x24F), (0x250, 0x52F), (0x530, 0x1FFF), (0x2000, 0x2BFF), (0x2C00, 0xD7FF), (0xF900, 0xFFFD), (0x10000, 0x1F9FF),
              (0x20000, 0x2A6DD), (0xE0000, 0xE01EF)]
    text = ""
    while len(text) < 1 or rng.random() < 0.85:
        low, high = pick(planes)
        text += chr(rng.randint(low, high)) + (" " if rng.random() < 0.1 else "")
    return text


def white_space():
    return "".join(pick([" " * rng.randint(1, 40), some(SPACES, 1, 5), some(NEWLINES, 1, 4), "\t" * rng.randint(1, 9), pick(NOT_QUITE_SPACES),
                         pick(["word", "x", "1", ".", "字", "»"])]) for _ in range(rng.randint(1, 6)))


def sentence():
    script = pick(list(WORDS))
    return pick([some(WORDS[script], 1, 5, " "), pick(CONTRACTIONS), number(), some(PUNCTUATION, 1, 4), pick(EMOJI), identifier()])


def mixture():
    return some([sentence() for _ in range(6)], 1, 6, pick(["", " ", "  ", "\n", " \n"]))


def broken_utf8():
    data = bytearray(mixture().encode())
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        data[at:at + rng.choice([0, 0, 1])] = pick([
            bytes([rng.randrange(256)]), b"\xff", b"\xc0\xaf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80",
            b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\xf0\x9f\x91", b"\x80", b"\xbf\xbf", b"\xc3"])
    return bytes(data[:rng.randint(1, len(data))] if rng.random() < 0.3 else data)


def special_tokens():
    token = lambda: pick(SPECIAL + PLAIN + OTHERS)
    part = lambda: pick([token(), token(), mixture(), " ", "\n", "e", "\u0301", "\u0338", "<", "|>", token()[:-1], token()[1:], token().upper(),
                         token().replace("|", "| "), "assistant", "user\n"])
    return "".join(part() for _ in range(rng.randint(1, 6)))


def chat():
    question = mixture()
    return pick([f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n",
                 f"<|startoftext|><|start_header_id|>user<|end_header_id|>\n\n{question}<|eot_id|>"
                 "<|start_header_id|>assistant<|end_header_id|>\n\n"])


def make_strings():
    source = source_lines()
    kinds = [(lambda: next(source), 3500), (lambda: filled(pick(CODE), identifier), 1500), (lambda: expression(), 1800),
             (scattered_marks, 1000), (jamo, 500), (lambda: some(EMOJI, 1, 4, pick(["", " "])), 400), (lambda: some(ZWJ_PARTS, 1, 8), 500),
             (any_code_points, 1800), (white_space, 1800), (lambda: some(CONTRACTIONS, 1, 4, pick(["", " "])), 500), (mixture, 2000),
             (broken_utf8, 2000), (special_tokens, 1800), (chat, 300)]
    kinds += [(lambda script=script: script_words(script), 250) for script in WORDS]
    strings = [token for token in SPECIAL + PLAIN + OTHERS]
    strings += [" " * n for n in range(1, 130)] + ["\n" * n for n in range(1, 20)] + [c + "x" for c in NEWLINES + SPACES]
    strings += ["", "a" * 200, "ab" * 99, "1" * 80, " a" * 50, "!" * 64, "=" * 80, "\ufffd", "\x00", "\x00\x00 \x7f"]
    for make, count in kinds:
        made = 0
        while made < count:
            text = make()
            as_text = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
            if known(as_text) and len(as_text) <= 400:
                strings.append(text)
                made += 1
    return strings


# ---- small tokenizers of every kind ----------------------------------------------------------------------------------

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def small(vocabulary, merges, **changes):
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": BYTE_LEVEL,
            "post_processor": None, "decoder": BYTE_LEVEL,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {piece: id for id, piece in enumerate(vocabulary)}, "merges": merges}}
    for key, value in changes.items():
        target = file["model"] if key in file["model"] else file
        target[key] = value
    return file


def added(id, content, **flags):
    token = {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {**token, **flags}


def make_kinds():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    letters = ["a", "b", "c", "d"]
    split = lambda regex: {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    sequence = lambda *parts: {"type": "Sequence", "pretokenizers": list(parts)}
    tokens = lambda **flags: {"added_tokens": [added(len(alphabet), "<x>", **flags), added(len(alphabet) + 1, "<x>y")]}
    near = ["a<x>b", " <x> ", "a  <x>\n b", "<x><x>", "<x>y", "a<x>yb", "_<x>", "<x>9", "é<x>é", "\u00a0<x>\u3000", "<X>", "<x>  <x>"]
    unknown = ["a", "abx", "xyab", "é", "aéè", "xéy", "日本a", "\n", ""]
    return [
        ("use_regex", small(alphabet, [], pre_tokenizer={**BYTE_LEVEL, "use_regex": True}), ["don't stop", "a  b 12", "x\n\ny"]),
        ("merges in two forms", small(letters + ["bc", "abc"], [["b", "c"], ["a", "bc"]]), ["abc", "abcbcab", "aabcc"]),
        ("a merge named twice", small(letters + ["ab", "bc"], ["a b", "b c", "a b"]), ["abc", "ab", "bc"]),
        ("two ways to one piece", small(letters + ["ab", "bc", "abc", "abcd"], ["a bc", "b c", "a b", "ab c", "abc d"]), ["abcd", "abc", "dabc"]),
        ("ties go left", small(letters + ["aa", "aaaa"], ["a a", "aa aa"]), ["a" * n for n in range(1, 10)]),
        ("ignore_merges", small(alphabet + ["Ġab", "ba", "é"], [], ignore_merges=True, pre_tokenizer={**BYTE_LEVEL, "use_regex": True}),
         ["ba ab", " ab", "bab", "ba"]),
        ("sequence of splits", small(alphabet + ["12", "34", "ab"], ["1 2", "3 4", "a b"],
                                     pre_tokenizer=sequence(split(r"\p{N}{1,3}"), split("b+"), BYTE_LEVEL)), ["12345ab", "1234 abbb", "34ab"]),
        ("empty matches cut", small(alphabet + ["ab"], ["a b"], pre_tokenizer=sequence(split("x*"), BYTE_LEVEL)), ["abab", "axxb", ""]),
        ("look-behind", small(alphabet + ["ab", "bb"], ["a b", "b b"], pre_tokenizer=sequence(split("(?<=a)b"), BYTE_LEVEL)), ["abb", "bbab"]),
        ("space classes", small(alphabet + ["ĠĠ"], ["Ġ Ġ"], pre_tokenizer=sequence(split(r"[\s\d]|\S"), BYTE_LEVEL)),
         ["  ", "a \u00a0\u1680\u180e1", "\u0085\u2028"]),
        ("case", small(alphabet + ["Ab"], ["A b"], pre_tokenizer=sequence(split("(?i:ab)"), BYTE_LEVEL)), ["AbaB", "xAbx"]),
        ("scripts", small(alphabet, [], pre_tokenizer=sequence(split(r"\p{Han}+|\p{^L}|\P{N}"), BYTE_LEVEL)), ["漢字。a1", "〇々"]),
        ("no pre-tokenizer", small(letters + ["é", "ab", "éa"], ["a b", "é a"], pre_tokenizer=None), ["abéa", "éab"]),
        ("nested NFC", small(letters + ["é", "\u0301"], [], pre_tokenizer=None,
                             normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}), ["e\u0301a", "é\u0301"]),
        ("unk", small(letters + ["<unk>", "ab"], ["a b"], pre_tokenizer=None, unk_token="<unk>"), unknown),
        ("unk fused", small(letters + ["<unk>", "ab"], ["a b"], pre_tokenizer=None, unk_token="<unk>", fuse_unk=True), unknown),
        ("byte_fallback", small(letters + ["<unk>", "<0xC3>", "<0xA9>", "<0x0A>", "ab"], ["a b"], pre_tokenizer=None, unk_token="<unk>",
                                byte_fallback=True, fuse_unk=True), unknown),
        ("byte_fallback, unk not fused", small(letters + ["<unk>", "<0xC3>", "<0xA9>", "<0x0A>", "ab"], ["a b"], pre_tokenizer=None,
                                               unk_token="<unk>", byte_fallback=True), unknown),
        ("byte_fallback of the byte alphabet", small(letters + ["<0xC4>", "<0x8A>"], [], byte_fallback=True), ["a\nb"]),
        ("added, lstrip", small(alphabet, [], **tokens(lstrip=True)), near),
        ("added, rstrip", small(alphabet, [], **tokens(rstrip=True)), near),
        ("added, both", small(alphabet, [], **tokens(lstrip=True, rstrip=True)), near),
        ("added, single_word", small(alphabet, [], **tokens(single_word=True)), near + ["Ⓐ<x>", "\u200d<x>", "-<x>-", "٣<x>", "‿<x>", "\u0301<x>"]),
        ("added, normalized", small(alphabet, [], normalizer={"type": "NFC"}, added_tokens=[
            added(len(alphabet), "<e\u0301>", normalized=True), added(len(alphabet) + 1, "é!", normalized=True, special=False)]),
         ["<é>", "<e\u0301>", "aé!", "e\u0301!", "e!"]),
        ("added, not special", small(alphabet, [], added_tokens=[added(len(alphabet), "<x>", special=False)]), near),
    ]


# ---- writing -------------------------------------------------------------------------------------------------------

def train(strings):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=4000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator((s for s in strings if isinstance(s, str)), trainer)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in PLAIN])
    return tokenizer


def checksum(ids):
    """FNV-1a over the ids, each as four bytes, lowest first."""
    value = 0x811C9DC5
    for id in ids:
        for byte in id.to_bytes(4, "little"):
            value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}"


def escaped(text):
    data = text if isinstance(text, bytes) else text.encode()
    out = ""
    for c in data.decode("utf-8", errors="surrogateescape"):
        code = ord(c)
        if 0xDC80 <= code <= 0xDCFF:
            out += f"\\x{code - 0xDC00:02X}"
        elif c in "\n\r\\":
            out += {"\n": "\\n", "\r": "\\r", "\\": "\\\\"}[c]
        elif code < 0x20 or code == 0x7F:
            out += f"\\x{code:02X}"
        elif unicodedata.category(c)[0] in "ZC" and c != " " or unicodedata.combining(c) or c in "\u2028\u2029":
            out += f"\\u{{{code:X}}}"
        else:
            out += c
    return out


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--real", help="a tokenizer.json whose checksums go into the second column")
    arguments = arguments.parse_args()
    global OLD_MARKS
    OLD_MARKS = agreeing_marks()
    strings = make_strings()
    DATA.mkdir(parents=True, exist_ok=True)
    tokenizer = train(strings)
    tokenizer.save(str(DATA / "tokenizer.json"), pretty=False)
    real = Tokenizer.from_file(arguments.real) if arguments.real else None
    with open(DATA / "strings.txt", "w", newline="\n") as file:
        for text in strings:
            readable = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
            first = checksum(tokenizer.encode(readable).ids)
            second = checksum(real.encode(readable).ids) if real else "-"
            file.write(f"{first} {second} {escaped(text)}\n")
    kinds = []
    for name, definition, texts in make_kinds():
        kind = Tokenizer.from_str(json.dumps(definition))
        cases = []
        for text in texts:
            ids = kind.encode(text).ids
            case = {"text": text, "ids": ids}
            if all(token["content"].isascii() for token in definition["added_tokens"]):
                case["decoded"] = kind.decode(ids, skip_special_tokens=False)
                case["without_special"] = kind.decode(ids, skip_special_tokens=True)
            cases.append(case)
        kinds.append({"name": name, "tokenizer": definition, "cases": cases})
    with open(DATA / "kinds.json", "w", newline="\n") as file:
        file.write("[\n" + ",\n".join(json.dumps(kind, ensure_ascii=True) for kind in kinds) + "\n]\n")
    print(f"{len(strings)} strings, {len(kinds)} kinds, in {DATA}")


if __name__ == "__main__":
    main()
