#!/usr/bin/env python3
"""Writes src/unicode.bin: what kind each character is, in Unicode 16.0 and where 15.1 differs.

Runs of (length << 4 | class) as LEB128, from U+0000 on: first all characters in 16.0, then in 15.1 with class 15 for
"the same". Needs PyPI's unicodedata2 16.0.0, and 15.1.0 unpacked in the folder named by the first argument.
"""

import importlib.util, os, sys
import unicodedata2 as new

path = [os.path.join(d, f) for d, _, fs in os.walk(sys.argv[1]) for f in fs if f.startswith("unicodedata2") and f.endswith(".so")][0]
spec = importlib.util.spec_from_file_location("unicodedata2", path)
old = importlib.util.module_from_spec(spec)
spec.loader.exec_module(old)
assert (new.unidata_version, old.unidata_version) == ("16.0.0", "15.1.0")

SPACE = {*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
CLASS = {"Lu": 1, "Lt": 1, "Ll": 2, "Lm": 3, "Lo": 3, "M": 4, "N": 5, "P": 6, "S": 7}


def kind(unicode, c):
    if c in SPACE: return 8
    category = unicode.category(chr(c))
    return CLASS.get(category) or CLASS.get(category[0]) or 0


def runs(classes):
    out, start = bytearray(), 0
    for i in range(1, len(classes) + 1):
        if i == len(classes) or classes[i] != classes[start]:
            n = (i - start) << 4 | classes[start]
            while n > 127: out.append(n & 127 | 128); n >>= 7
            out.append(n)
            start = i
    return bytes(out)


now = [kind(new, c) for c in range(0x110000)]
then = [kind(old, c) for c in range(0x110000)]
data = runs(now) + runs([15 if a == b else b for a, b in zip(now, then)])
open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/unicode.bin"), "wb").write(data)
print(len(data), "bytes")
