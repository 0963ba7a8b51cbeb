"""Prints src/text/jinja/case_tables.inc: where Python's str methods differ from simple case mappings and categories.

usage: make_jinja_case_tables.py > src/text/jinja/case_tables.inc   (then clang-format)
"""
import unicodedata

ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(points):
    out = []
    for c in points:
        if out and c == out[-1][1] + 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def print_ranges(name, points):
    print(f"constexpr Range {name}[] = {{")
    print(", ".join("{0x%X, 0x%X}" % (a, b) for a, b in ranges(points)))
    print("};")


def print_mapping(name, function):
    print(f"constexpr FullMapping {name}[] = {{")
    for c in ALL:
        mapped = function(chr(c))
        if len(mapped) > 1:
            points = [ord(x) for x in mapped] + [0] * (3 - len(mapped))
            print("{0x%X, {0x%X, 0x%X, 0x%X}}," % (c, *points))
    print("};")


def category(c):
    return unicodedata.category(chr(c))


print("// Made by tests/oracle/make_jinja_case_tables.py from Unicode", unicodedata.unidata_version + ".")
print_mapping("kFullUpper", str.upper)
print_mapping("kFullTitle", str.title)
print_ranges("kDigitsBesideNd", [c for c in ALL if chr(c).isdigit() and not chr(c).isdecimal()])
print_ranges("kNumericLetters", [c for c in ALL if chr(c).isnumeric() and category(c) == "Lo"])
print_ranges("kLowerBesideLl", [c for c in ALL if chr(c).islower() and category(c) != "Ll"])
print_ranges("kUpperBesideLu", [c for c in ALL if chr(c).isupper() and category(c) != "Lu"])
print_ranges("kIdentifierStartBesideAlpha", [c for c in ALL if chr(c).isidentifier() != (chr(c).isalpha() or c == 0x5F)])
print_ranges("kIdentifierPartBesideAlnum", [c for c in ALL if ("a" + chr(c)).isidentifier() != (chr(c).isalnum() or c == 0x5F)])
