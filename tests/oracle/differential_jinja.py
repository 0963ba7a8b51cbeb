"""Random templates through jinja2, set up as transformers does, and through ours: every difference is printed.

usage: differential_jinja.py RENDER_TEMPLATES [--count N] [--seed S] [--no-shrink]

RENDER_TEMPLATES is the program of that name (cmake --build … --target render_templates). Needs jinja2 3.1.6 and
Python 3.11. Both must give the same bytes, or both an error. Where ours refuses by name what jinja2 renders
(`filter … is not supported`, integers beyond 64 bits, limits) the refusal is counted, by its words; so are an error of
ours for a reason in STRICTER, an error that jinja2 finds sooner than we would ("later"), and a template that jinja2 does
not finish ("slow"). Exit status 1 if there are differences.
"""
import argparse
import collections
import copy
import json
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import warnings

import jinja2

from make_jinja_cases import environment

warnings.simplefilter("ignore")
TEXTS = ["", " ", "a", "Hello World", "  two  words\t\n", "ÀÉÎ ß ŉ ﬁ", "ΑΣ Σ.", "x1 y²³ 一", "a.b-c_d", "l1\nl2\r\nl3\rl4\u2028e\x0bf",
         "<b>&\"'</b>", "İstanbul ıI", "they're o'neil", "e\u0301a", "42", "-7.5e3", "user", "assistant", "<think>\na\n</think>\n\nb", "👩🏽‍💻 ok",
         "a,b,,c", "%s and %d", "{} {x}", "\x00\x7f\x85\u00a0", "None", "true", "0x1F", " 7 ", "1_000", "\u200bz\ufeff", "ab" * 20, "٣", "a b c d e f g"]
INTS = [-7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 10, 20, 255, 2 ** 31, 2 ** 62, 2 ** 63 - 1, -2 ** 63, 2 ** 70]
SMALL = [-3, -2, -1, 0, 1, 2, 3, 5]
FLOATS = [0.0, -0.0, 1.0, 2.5, -2.5, 0.1, 3.14159, 1e16, 1e-5, 123456.789, 1e22, 0.5, 1.5, -7.25]
ROLES = ["system", "user", "assistant", "tool"]


def pick_scalar(r):
    return r.choice([lambda: r.choice(TEXTS), lambda: r.choice(INTS), lambda: r.choice(FLOATS), lambda: None, lambda: True, lambda: False])()


def pick_value(r, depth=2):
    if depth == 0 or r.random() < 0.6:
        return pick_scalar(r)
    if r.random() < 0.5:
        return [pick_value(r, depth - 1) for _ in range(r.randrange(4))]
    return {r.choice(["a", "b", "C", "é", "items", "role", "", "x y", "1", "_p"]): pick_value(r, depth - 1) for _ in range(r.randrange(4))}


def pick_message(r):
    m = {"role": r.choice(ROLES)}
    k = r.random()
    if k < 0.6:
        m["content"] = r.choice(TEXTS)
    elif k < 0.75:
        m["content"] = [{"type": "text", "text": r.choice(TEXTS)} if r.random() < 0.7 else {"type": "image"} for _ in range(r.randrange(3))]
    elif k < 0.9:
        m["content"] = None
    if r.random() < 0.3:
        m["tool_calls"] = [{"id": "c%d" % r.randrange(9), "function": {"name": "f", "arguments": pick_value(r)}}]
    if r.random() < 0.2:
        m["reasoning_content"] = r.choice(TEXTS)
    return m


def pick_context(r):
    return {"s": r.choice(TEXTS), "t": r.choice(TEXTS), "n": r.choice(INTS[:14]), "k": r.choice(SMALL), "f": r.choice(FLOATS), "b": r.random() < 0.5,
            "z": None, "big": r.choice(INTS), "l": [r.choice(INTS[:13]) for _ in range(r.randrange(6))], "w": [r.choice(TEXTS) for _ in range(r.randrange(5))],
            "m": [pick_message(r) for _ in range(r.randrange(5))], "d": {str(k): pick_value(r) for k in r.sample(["a", "b", "C", "é", "items", "role", "n"], r.randrange(5))},
            "x": [pick_value(r) for _ in range(r.randrange(5))], "e": [], "v": pick_value(r, 3),
            "tools": r.choice([None, [{"type": "function", "function": {"name": "g", "description": "d <&> é", "parameters": pick_value(r, 3)}}]])}


NAMES = {"str": ["s", "t"], "int": ["n", "k"], "float": ["f"], "bool": ["b"], "list": ["l", "w", "m", "x", "e", "tools"], "dict": ["d"],
         "any": ["s", "t", "n", "k", "f", "b", "z", "l", "w", "m", "x", "e", "d", "v", "missing", "big", "tools", "ns", "range"]}
STR_METHODS = ["upper()", "lower()", "title()", "capitalize()", "swapcase()", "strip()", "lstrip()", "rstrip()", "strip(S)", "lstrip(S)", "rstrip(S)", "replace(S, S)",
               "replace(S, S, K)", "center(K)", "ljust(I)", "rjust(I, '*')", "zfill(I)", "expandtabs()", "expandtabs(K)", "removeprefix(S)", "removesuffix(S)", "casefold()",
               "join(L)", "format(A, A, x=A)", "split(S)[K]", "format_map(D)", "translate(D)", "encode()", "strip(z)", "strip()"]
STR_TO_LIST = ["split()", "split(S)", "split(S, K)", "split(sep=S)", "split(none, K)", "split(maxsplit=K)", "rsplit(S, K)", "rsplit()", "splitlines()", "splitlines(B)", "splitlines(keepends=true)",
               "partition(S)", "rpartition(S)"]
STR_TO_INT = ["find(S)", "find(S, K)", "find(S, K, K)", "rfind(S)", "rfind(S, K)", "count(S)", "count(S, K)", "index(S)", "rindex(S)", "__len__()"]
STR_TO_BOOL = ["startswith(S)", "startswith(S, K)", "endswith(S)", "endswith(S, K, K)", "startswith((S, S))", "endswith((S, S))", "isdigit()", "isalpha()", "isalnum()", "isupper()", "islower()", "istitle()", "isspace()",
               "isascii()", "isprintable()", "isidentifier()", "isdecimal()", "isnumeric()"]
STR_FILTERS = ["upper", "lower", "title", "capitalize", "trim", "trim(S)", "trim(chars=S)", "replace(S, S)", "replace(S, S, K)", "strip()", "indent", "indent(K)", "indent(K, true)", "indent(width=K, blank=true)", "indent(S)",
               "indent(K, first=true, blank=B)", "e", "escape", "forceescape", "safe", "string", "truncate(I)", "truncate(I, true)", "truncate(I, B, S)", "truncate(I, B, S, K)", "truncate(length=I, killwords=true, end='', leeway=0)", "center(I)", "center",
               "urlencode", "reverse", "default(S)", "default(S, true)", "d", "format(A)", "format(A, A)", "format(x=A)", "tojson", "join", "join(S)", "string | string", "attr(S)"]
ANY_TO_STR = ["tojson", "tojson(indent=K)", "tojson(indent=S)", "tojson(sort_keys=B)", "tojson(ensure_ascii=B)", "tojson(separators=(S, S))", "tojson(indent=2, separators=(',', ': '))", "tojson(K)", "string", "e", "safe", "upper", "trim", "lower", "title", "capitalize", "join(S)",
              "replace(S, S)", "urlencode", "center(I)", "tojson(indent=none, sort_keys=true)", "tojson(B, K, (',', ':'), B)", "tojson(bogus=1)", "format", "indent"]
LIST_FILTERS = ["list", "sort", "sort(B)", "sort(reverse=B)", "sort(case_sensitive=B)", "sort(attribute='role')", "sort(attribute='role,content')", "sort(attribute=K)", "unique | list", "unique(B) | list", "unique(attribute='role') | list", "reverse | list", "map('upper') | list", "map('trim') | list",
                "map('string') | list", "map('length') | list", "map('default', S) | list", "map('replace', S, S) | list", "map('int') | list", "map('float') | list", "map('tojson') | list", "map('tojson', indent=K) | list", "map('abs') | list", "map('join', S) | list",
                "map(attribute='role') | list", "map(attribute='content') | list", "map(attribute='content', default=S) | list", "map(attribute='tool_calls.0.id') | list", "map(attribute='function.name') | list", "map(attribute=K) | list", "map('first') | list", "map('list') | list", "map(attribute='a.b', default=A) | list", "map('attr', 'role') | list", "map('items') | list", "map('e') | list",
                "select | list", "reject | list", "select('odd') | list", "reject('even') | list", "select('string') | list", "select('in', L) | list", "reject('in', L) | list", "select('equalto', A) | list", "reject('none') | list", "select('gt', K) | list", "select('lt', K) | list", "select('ne', A) | list", "select('divisibleby', K) | list", "select('mapping') | list", "select('defined') | list",
                "selectattr('role') | list", "selectattr('role', 'equalto', S) | list", "selectattr('role', 'eq', 'user') | list", "selectattr('role', '==', 'user') | list", "selectattr('role', 'in', ['user', S]) | list", "selectattr('content', 'string') | list", "selectattr('content', 'none') | list", "selectattr('tool_calls', 'defined') | list", "selectattr('a') | list", "selectattr(K) | list",
                "rejectattr('role', 'equalto', 'system') | list", "rejectattr('content') | list", "rejectattr('tool_calls', 'defined') | list", "rejectattr('tool_calls', 'undefined') | list", "rejectattr('role', 'in', L) | list", "batch(K) | list", "batch(I) | list", "batch(K, A) | list", "batch(2, fill_with=A) | list", "slice(I) | list", "slice(3) | list", "slice(K, A) | list", "groupby('role')", "groupby('role', default=S)", "groupby('content', case_sensitive=true)", "groupby(K)", "groupby(attribute='role') | map(attribute='grouper') | list", "groupby('role') | map('last') | map('length') | list",
                "default(L)", "default(L, true)", "d(L, boolean=B)", "map('batch', 2) | map('list') | list", "map('select') | map('list') | list", "sort | reverse | list", "unique | sort", "sort(attribute='0') | list", "sum(start=L)", "items | list", "list | list", "select('sameas', A) | list", "select('filter') | list", "select('eq', A) | list", "map('round') | list", "map('wordcount') | list", "map('capitalize') | list", "map('lower') | list", "map('title') | list", "map('safe') | list", "map('unique') | map('list') | list", "map('max') | list", "map('min') | list", "map('format', A) | list", "map('dictsort') | list", "map('sort') | list", "map('reverse') | map('list') | list", "map('last') | list", "map('indent', K) | list"]
LIST_TO_ANY = ["first", "last", "min", "max", "sum", "min(attribute='role')", "max(attribute='role')", "min(B)", "max(case_sensitive=B)", "sum(start=K)", "sum('n')", "sum(attribute='n', start=K)", "max(attribute=K)", "random", "first | default(A)", "last | default(A)", "sort | first", "map('int') | sum", "map('upper') | first", "reverse | first", "select | first", "select('odd') | first"]
ANY_TO_INT = ["length", "count", "int", "int(K)", "int(default=K)", "int(K, 16)", "int(base=I)", "wordcount", "string | length", "list | length"]
ANY_TO_FLOAT = ["float", "float(F)", "float(default=K)", "round", "round(K)", "round(K, 'ceil')", "round(method='floor')", "round(1, 'floor')", "round(precision=2)", "abs", "round | int", "round(K, S)"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable", "callable", "true", "false", "odd", "even", "upper", "lower", "escaped", "sameas A", "sameas(A)", "eq A", "eq(A)", "equalto(A)", "ne A", "gt K", "gt(A)", "ge(A)", "lt(A)", "le K", "lessthan(A)", "greaterthan(A)", "in L", "in(A)", "divisibleby K", "divisibleby(I)", "filter", "test", "divisibleby(num=K)"]
GOOD_FORMATS = ["%s", "%d", "%r", "%5s|", "%-5s|", "%05d", "%+d", "%.2f", "%x", "%5.1f", "%e", "%g", "%i", "%%", "%c", "%o", "%X", "%.3s", "% d", "%#x", "%(a)s", "%s %s", "%s-%d", "%a", "%u", "%G", "%-05d", "%+.3e", "%5%", "%ld", "%.0f", "%#o", "%*d", "%q", "%"]
BRACES = ["{}", "{0}", "{:>5}", "{:<5}|", "{:^5}|", "{:*^7}", "{:05d}", "{:+}", "{:,}", "{:.3f}", "{:e}", "{:%}", "{:x}", "{:#x}", "{:b}", "{!r}", "{!s:>8}", "{x}", "{x!r}", "{0}{0}", "{{}}", "{:g}", "{:.3}", "{:s}", "{:d}", "{:c}", "{:_}", "{:,.2f}", "{:010.3f}", "{:n}", "{:=+8}", "{0[0]}", "{x[a]}", "{0.real}", "{:{}}", "{:o}", "{:X}", "{:E}", "{!a}", "{:<05}", "{:z.1f}", "{", "}"]
STRFTIMES = ["%d %b %Y", "%Y-%m-%d", "%A, %B %d", "%H:%M:%S", "%y%j%U%W%w", "%I %p", "%%", "%e %F %T %D %c %x %X", "%-d/%-m", "é %d", "%Z%z", "%G-%V-%u", "%s", "%R %r", "%n%t", "%C%g%h", "%Q", "%E", "%_d %^a %#Z %5Y", "%f", "%-I:%-M:%-S %-j %-H", "%k %l", "%P", "", "%L", "%:z", "%+", "%Ey %Od", "%N", "%"]


class Generator:
    def __init__(self, r):
        self.r = r
        self.locals = []
        self.macros = []
        self.in_loop = 0

    # ---- Expressions
    def fill(self, pattern, depth):
        """Replaces the capitals that stand alone by expressions: S str, K small int, I int, F float, B bool, L list, D dict, A any."""
        kinds = {"S": "str", "K": "small", "I": "mid", "F": "float", "B": "bool", "L": "list", "D": "dict", "A": "any"}
        return re.sub(r"(?<![\w'\"%])[SKIFBLDA](?![\w'\"])", lambda x: self.e(kinds[x.group()], min(depth - 1, 1)), pattern)

    def literal_string(self):
        r, text = self.r, self.r.choice(TEXTS + ["\\", "'", '"', "{{ x }}", "{% if %}", "#}", "\t", "</think>", ",", "l", "-", "é", "a", "o"])
        quote = r.choice("'\"")
        out = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
        if r.random() < 0.5:
            out = out.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
        if r.random() < 0.03:
            out += r.choice(["\\x41", "\\u00e9", "\\U0001F600", "\\101", "\\q", "\\0", "\\\n", "\\x4", "\\N{DASH}", "\\a\\b\\f\\v"])
        return quote + out.replace("\r", "\\r") + quote

    def name(self, kind):
        r = self.r
        fitting = [n for n, k in self.locals if k == kind or kind == "any"]
        if fitting and r.random() < 0.5:
            return r.choice(fitting)
        if kind == "list" and r.random() < 0.3:
            return "m"
        return r.choice(NAMES[kind])

    def call_macro(self, depth):
        name, parameters = self.r.choice(self.macros)
        arguments = [self.e("any", depth - 1) for _ in range(self.r.randrange(len(parameters) + 1 + (self.r.random() < 0.15)))]
        for p in parameters[len(arguments):]:
            if self.r.random() < 0.4:
                arguments.append("%s=%s" % (p, self.e("any", depth - 1)))
        if self.r.random() < 0.05:
            arguments.append(self.r.choice(["zz=1", "*l", "*[1, 2]", "**d", "**{'p': 1}", "caller=none"]))
        return "%s(%s)" % (name, ", ".join(arguments))

    def e(self, kind, depth):
        r = self.r
        if r.random() < 0.035:
            kind = r.choice(["str", "int", "float", "bool", "list", "dict", "any"])
        if kind == "small":
            return str(r.choice(SMALL)) if r.random() < 0.85 or depth <= 0 else self.e("int", depth)
        if kind == "mid":
            return str(r.choice([1, 2, 3, 5, 8, 10, 16, 20])) if r.random() < 0.9 or depth <= 0 else self.e("int", depth)
        if kind == "any" and r.random() < 0.75:
            kind = r.choice(["str", "str", "int", "float", "bool", "list", "dict"])
        text = getattr(self, "e_" + kind)(depth)
        return "(%s)" % text if r.random() < 0.06 else text

    def paren(self, kind, depth):
        text = self.e(kind, depth)
        return text if re.fullmatch(r"\w+|\w+\([^()]*\)|\[[^][]*\]|'[^']*'", text) and not text[0].isdigit() else "(%s)" % text

    def ternary(self, kind, depth):
        if self.r.random() < 0.2:
            return "%s if %s" % (self.e(kind, depth - 1), self.e("bool", depth - 1))
        return "%s if %s else %s" % (self.e(kind, depth - 1), self.e("bool", depth - 1), self.e(kind, depth - 1))

    def path(self, depth):
        r = self.r
        base = r.choice(["m[%s]" % self.e("small", 1), "d", "v", "m[0]", "m[-1]", "tools[0]", "message", "x[0]", "(m | first)", "(m | last)"])
        for _ in range(r.randrange(1, 3)):
            base += r.choice([".role", ".content", "['role']", "['content']", ".a", "['a']", ".b", "[0]", "[-1]", ".items", "['items']", ".tool_calls", ".function", "['tool_calls'][0]", ".get('role')", ".get('q', %s)" % self.e("any", 0), "[s]", "[k]", ".missing", ".keys()", ".0", "[%s]" % self.e("any", 0), ".__class__", "._p", ".count", ".get", "['get']", ".real", ".values() | list"])
        return base

    def e_any(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.25:
            return self.name("any")
        k = r.randrange(9)
        if k == 0:
            return self.path(depth)
        if k == 1:
            return "%s | %s" % (self.paren("list", depth - 1), self.fill(r.choice(LIST_TO_ANY), depth))
        if k == 2:
            return self.ternary("any", depth)
        if k == 3:
            return "%s %s %s" % (self.paren("any", depth - 1), r.choice(["and", "or", "+", "-", "*", "/", "//", "%", "~"]), self.paren("any", depth - 1))
        if k == 4:
            return "%s[%s]" % (self.paren("any", depth - 1), self.e("any", depth - 1))
        if k == 5:
            return r.choice(["namespace(a=%s)", "dict(a=%s)", "cycler(1, %s)", "joiner(%s)", "range(%s)", "dict([('q', %s)])", "namespace({'a': %s}).a", "loop", "self", "varargs", "kwargs", "caller", "caller()", "strftime_now(%s)", "raise_exception(%s)"]).replace("%s", self.e("any", depth - 1))
        if k == 6:
            return "%s | %s" % (self.paren("any", depth - 1), self.fill(r.choice(ANY_TO_STR + LIST_FILTERS + LIST_TO_ANY + ANY_TO_INT + ANY_TO_FLOAT + STR_FILTERS), depth))
        if k == 7 and self.macros:
            return self.call_macro(depth)
        return "(%s, %s)" % (self.e("any", depth - 1), self.e("any", depth - 1)) if r.random() < 0.7 else r.choice(["()", "(%s,)" % self.e("any", depth - 1)])

    def e_str(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.2:
            return self.literal_string() if r.random() < 0.6 else self.name("str")
        k = r.randrange(16)
        if k < 3:
            return "%s.%s" % (self.paren("str", depth - 1), self.fill(r.choice(STR_METHODS), depth))
        if k < 6:
            return "%s | %s" % (self.paren("str", depth - 1), self.fill(r.choice(STR_FILTERS), depth))
        if k < 8:
            return "%s | %s" % (self.paren("any", depth - 1), self.fill(r.choice(ANY_TO_STR), depth))
        if k == 8:
            return " ~ ".join(self.paren("any", depth - 1) for _ in range(r.randrange(2, 4)))
        if k == 9:
            return "%s + %s" % (self.e("str", depth - 1), self.e("str", depth - 1))
        if k == 10:
            return "%s[%s]" % (self.paren("str", depth - 1), self.slice(depth))
        if k == 11:
            return self.ternary("str", depth)
        if k == 12:
            formats = "".join(r.choice(GOOD_FORMATS) for _ in range(r.randrange(1, 3)))
            right = self.paren("any", depth - 1) if r.random() < 0.5 else "(%s, %s)" % (self.e("any", depth - 1), self.e("any", depth - 1))
            return "'%s' %% %s" % (formats, right)
        if k == 13:
            return "'%s'.format(%s, %s, x=%s)" % ("".join(r.choice(BRACES) for _ in range(r.randrange(1, 3))), self.e("any", depth - 1), self.e("any", depth - 1), self.e("any", depth - 1))
        if k == 14:
            return r.choice(["%s | join(%s)" % (self.paren("list", depth - 1), self.e("str", 0)), "%s | join(%s, attribute='role')" % (self.paren("list", depth - 1), self.e("str", 0)), "strftime_now('%s')" % r.choice(STRFTIMES), "%s * %s" % (self.paren("str", 0), self.e("small", 0)),
                             "%s | tojson(sort_keys=true)" % self.paren("dict", depth - 1), "loop.cycle(%s, 'q')" % self.e("str", 0), "%s | map('string') | join" % self.paren("list", depth - 1), "('<&' | safe) + %s" % self.e("str", depth - 1), "%s | escape ~ %s" % (self.paren("str", depth - 1), self.literal_string())])
        return self.call_macro(depth) if self.macros else self.literal_string() + " " + self.literal_string()

    def slice(self, depth):
        parts = [self.e("small", 0) if self.r.random() < 0.6 else "" for _ in range(self.r.choice([2, 2, 3]))]
        return ":".join(parts)

    def e_int(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.3:
            return r.choice([str(r.choice(SMALL)), str(r.choice(INTS)), self.name("int"), self.name("int"), r.choice(["0x1F", "0b101", "0o17", "1_000", "00"]), str(r.choice(SMALL))])
        k = r.randrange(8)
        if k < 3:
            return "%s %s %s" % (self.paren("int", depth - 1), r.choice(["+", "-", "*", "//", "%"]), self.paren("int", depth - 1))
        if k == 3:
            return "%s.%s" % (self.paren("str", depth - 1), self.fill(r.choice(STR_TO_INT), depth))
        if k == 4:
            return "%s | %s" % (self.paren("any", depth - 1), self.fill(r.choice(ANY_TO_INT), depth))
        if k == 5:
            return "%s ** %s" % (self.paren("int", 0), r.choice("0123"))
        if k == 6:
            return r.choice(["-", "+", "- "]) + self.paren("int", depth - 1)
        return r.choice(["loop.index", "loop.index0", "loop.length", "loop.revindex", "loop.revindex0", "loop.depth", "loop.depth0", "%s.index(%s)" % (self.paren("list", 0), self.e("any", 0)), "%s.count(%s)" % (self.paren("list", 0), self.e("any", 0)), "ns.a"])

    def e_float(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.3:
            return r.choice([repr(r.choice(FLOATS)), self.name("float"), r.choice(["1e3", "1E-7", "1_0.5_0", "2.50", "1.e5"] if r.random() < 0.1 else ["1e3"])])
        k = r.randrange(4)
        if k < 2:
            return "%s %s %s" % (self.paren(r.choice(["int", "float"]), depth - 1), r.choice(["+", "-", "*", "/", "//", "%"]), self.paren(r.choice(["int", "float"]), depth - 1))
        if k == 2:
            return "%s | %s" % (self.paren(r.choice(["int", "float", "str", "any", "float"]), depth - 1), self.fill(r.choice(ANY_TO_FLOAT), depth))
        return "%s ** %s" % (self.paren("float", 0), r.choice(["0", "1", "2", "-1", "0.5", "2.5"]))

    def e_bool(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.15:
            return r.choice(["true", "false", "b", "True", "False", self.name("any")])
        k = r.randrange(9)
        if k < 3:
            return "%s is %s%s" % (self.paren("any", depth - 1), "not " if r.random() < 0.3 else "", self.fill(r.choice(TESTS), depth))
        if k == 3:
            kind = r.choice(["str", "int", "float", "list", "any"])
            text = self.paren(kind, depth - 1)
            for _ in range(1 if r.random() < 0.8 else 2):
                text += " %s %s" % (r.choice(["==", "!=", "<", ">", "<=", ">="]), self.paren(r.choice([kind, kind, "float" if kind == "int" else kind]), depth - 1))
            return text
        if k == 4:
            return "%s %s %s" % (self.paren("any", depth - 1), r.choice(["in", "not in"]), self.paren(r.choice(["list", "str", "dict", "any"]), depth - 1))
        if k == 5:
            return "%s %s %s" % (self.e("bool", depth - 1), r.choice(["and", "or"]), self.e("bool", depth - 1))
        if k == 6:
            return "not " + self.e("bool", depth - 1)
        if k == 7:
            return "%s.%s" % (self.paren("str", depth - 1), self.fill(r.choice(STR_TO_BOOL), depth))
        return r.choice(["loop.first", "loop.last", "loop.changed(%s)" % self.e("any", depth - 1), "loop.previtem is defined", "loop.nextitem is defined", "%s == %s" % (self.e("any", depth - 1), self.e("any", depth - 1)), "m[0]['role'] == 'system'"])

    def e_list(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.3:
            return self.name("list") if r.random() < 0.7 else "[%s]" % ", ".join(self.e("any", 0) for _ in range(r.randrange(4)))
        k = r.randrange(12)
        if k < 6:
            return "%s | %s" % (self.paren("list", depth - 1), self.fill(r.choice(LIST_FILTERS), depth))
        if k == 6:
            return "%s + %s" % (self.paren("list", depth - 1), self.paren("list", depth - 1))
        if k == 7:
            return "%s[%s]" % (self.paren("list", depth - 1), self.slice(depth))
        if k == 8:
            return "%s.%s" % (self.paren("str", depth - 1), self.fill(r.choice(STR_TO_LIST), depth))
        if k == 9:
            return r.choice(["range(%s)", "range(1, %s)", "range(%s, -3, -1)", "range(0, 9, %s)", "range(%s) | list", "range(%s)[::-1] | list"]) % self.e("mid", 0)
        if k == 10:
            return r.choice(["%s.items()", "%s.keys()", "%s.values()", "%s.items() | list", "%s | dictsort", "%s | dictsort(true)", "%s | dictsort(by='value')", "%s | dictsort(reverse=true)", "%s | items", "%s | items | list", "%s | list"]) % self.paren("dict", depth - 1)
        return r.choice(["[%s]" % ", ".join(self.e("any", depth - 1) for _ in range(r.randrange(4))), "%s | list" % self.paren("str", depth - 1), "%s * %s" % (self.paren("list", 0), self.e("small", 0)), self.ternary("list", depth), "(%s, %s)" % (self.e("any", 0), self.e("any", 0)), "[%s,]" % self.e("any", 0)])

    def e_dict(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.4:
            return self.name("dict") if r.random() < 0.7 else "{}"
        k = r.randrange(5)
        if k < 3:
            return "{%s}" % ", ".join("%s: %s" % (self.e(r.choice(["str", "str", "str", "int", "any"]), 0), self.e("any", depth - 1)) for _ in range(r.randrange(4)))
        if k == 3:
            return r.choice(["dict(a=%s, b=%s)" % (self.e("any", 0), self.e("any", 0)), "dict(%s, q=%s)" % (self.paren("dict", 0), self.e("any", 0)), "%s.copy()" % self.paren("dict", 0), "dict(%s | items)" % self.paren("dict", 0), "dict(w | batch(2))"])
        return r.choice(["m[0]", "m[-1]", "message", "(m | first)"])

    # ---- Statements
    def open(self):
        return self.r.choice(["{%", "{%", "{%", "{%-", "{%-", "{%+"])

    def close(self):
        return self.r.choice(["%}", "%}", "%}", "-%}", "-%}", "+%}"])

    def tag(self, text):
        return "%s %s %s" % (self.open(), text, self.close())

    def output(self, depth):
        r = self.r
        left, right = r.choice(["{{", "{{", "{{-", "{{+"]), r.choice(["}}", "}}", "-}}"])
        text = self.e(r.choice(["str", "str", "any", "int", "float", "bool", "list", "dict"]), depth)
        if r.random() < 0.04:
            text += ", " + self.e("any", 1)
        return "%s %s %s" % (left, text, right)

    def data(self):
        r = self.r
        return r.choice(["", " ", "\n", "\n  ", "  \n", "text", " a ", "\n\n", "\t\n\t", "x\r\ny", "é", "{", "}", "{ {", "%}", "#", "\r", "\u2028", " \u00a0 "]) if r.random() < 0.6 else ""

    def block(self, depth, count=None):
        saved = list(self.locals), list(self.macros)
        text = "".join(self.data() + self.statement(depth) for _ in range(count or self.r.randrange(1, 3))) + self.data()
        if self.r.random() < 0.8:  # else names leak: they may be unknown there, which is a case too
            self.locals, self.macros = saved
        return text

    def assign_target(self):
        r = self.r
        name = r.choice(["p", "q", "y", "message", "s", "l", "n"])
        kind = r.choice(["str", "int", "float", "bool", "list", "dict", "any"])
        return name, kind

    def statement(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.45:
            return self.output(3)
        k = r.choice(["if", "if", "for", "for", "for", "for", "set", "set", "set", "setblock", "ns", "macro", "macro", "call", "filter", "with", "raw", "comment", "generation", "break", "break", "print", "bad"])
        return getattr(self, "s_" + k)(depth - 1)

    def s_if(self, depth):
        text = self.tag("if " + self.e("bool", 2)) + self.block(depth)
        for _ in range(self.r.choice([0, 0, 1, 2])):
            text += self.tag("elif " + self.e("bool", 2)) + self.block(depth)
        if self.r.random() < 0.4:
            text += self.tag("else") + self.block(depth)
        return text + self.tag("endif")

    def s_for(self, depth):
        r = self.r
        saved = list(self.locals)
        k = r.random()
        if k < 0.15:
            target, iterable = "p, q", r.choice(["d.items()", "d | dictsort", "d | items", "[[1, 2], [3, 4]]", "w | batch(2)", "m | groupby('role')", "x"])
            new = [("p", "any"), ("q", "any")]
        elif k < 0.4:
            target, iterable, new = "message", r.choice(["m", "m", "m[1:]", "m | selectattr('role', 'in', ['user', 'system'])", "m | reverse"]), [("message", "dict")]
        elif k < 0.45:
            target, iterable, new = "(p, q), y", r.choice(["[((1, 2), 3)]", "m | groupby('role')", "d.items()"]), [("p", "any"), ("q", "any"), ("y", "any")]
        else:
            kind = r.choice(["list", "list", "list", "str", "dict", "any"])
            target = r.choice(["p", "q", "y", "s", "n"])
            iterable, new = self.e(kind, 2), [(target, "any")]
        if " if " in iterable:
            iterable = "(%s)" % iterable
        self.locals += new
        condition = " if " + self.e("bool", 2) if r.random() < 0.2 else ""
        recursive = " recursive" if r.random() < 0.04 else ""
        self.in_loop += 1
        body = self.block(depth)
        if r.random() < 0.35:
            body += "{{ %s }}" % r.choice(["loop.index", "loop.index0", "loop.first", "loop.last", "loop.length", "loop.revindex", "loop.cycle('a', 'b')", "loop.previtem", "loop.nextitem", "loop.changed(%s)" % new[0][0], "loop", "loop.depth", new[0][0], new[0][0]])
        self.in_loop -= 1
        self.locals = saved
        text = self.tag("for %s in %s%s%s" % (target, iterable, condition, recursive)) + body
        if r.random() < 0.25:
            text += self.tag("else") + self.block(depth)
        return text + self.tag("endfor")

    def s_set(self, depth):
        r = self.r
        if r.random() < 0.08:
            self.locals += [("p", "any"), ("q", "any")]
            return self.tag("set p, q = %s" % r.choice(["1, 2", "%s, %s" % (self.e("any", 1), self.e("any", 1)), "l", "[1, 2]", "s"]))
        name, kind = self.assign_target()
        text = self.tag("set %s = %s" % (name, self.e(kind, 2)))
        self.locals.append((name, kind))
        return text

    def s_setblock(self, depth):
        name = self.r.choice(["p", "q", "y"])
        filters = self.r.choice(["", "", " | upper", " | trim", " | replace('a', 'b') | trim", " | length"])
        body = self.block(depth)
        self.locals.append((name, "str"))
        return self.tag("set %s%s" % (name, filters)) + body + self.tag("endset")

    def s_ns(self, depth):
        r = self.r
        k = r.random()
        self.locals.append(("ns.a", "any"))
        if k < 0.4:
            return self.tag("set ns = namespace(a=%s)" % self.e("any", 1))
        if k < 0.8:
            return "{% set ns = namespace(a=0, found=false) %}" + self.tag("for p in %s" % r.choice(["l", "w", "m", "[1, 2]"])) + self.tag("set ns.a = %s" % r.choice(["ns.a + 1", "p", "loop.index", "[ns.a, p]"])) + self.block(depth, 1) + self.tag("endfor") + "{{ ns.a }}"
        return self.tag("set ns.%s = %s" % (r.choice(["a", "q", "_x"]), self.e("any", 1)))

    def s_macro(self, depth):
        r = self.r
        name = r.choice(["f1", "f2", "g"])
        parameters = r.sample(["p", "q", "y", "s"], r.randrange(4))
        saved, macros = list(self.locals), list(self.macros)
        text, has_default = [], False
        for p in parameters:
            has_default = has_default or r.random() < 0.3
            text.append("%s=%s" % (p, self.e("any", 1)) if has_default else p)
            self.locals.append((p, "any"))
        body = self.block(depth)
        if r.random() < 0.3:
            body += "{{ %s }}" % r.choice(["varargs", "kwargs", "caller()", "caller is defined", "caller(1)", "varargs | length", "kwargs.items() | list", "caller() | upper if caller else ''"])
        self.locals, self.macros = saved, macros
        self.macros.append((name, parameters))
        return self.tag("macro %s(%s)" % (name, ", ".join(text))) + body + self.tag("endmacro") + ("{{ %s }}" % self.call_macro(1) if r.random() < 0.7 else "")

    def s_call(self, depth):
        r = self.r
        setup = ""
        if not self.macros:
            setup = "{% macro f1(p) %}" + self.data() + r.choice(["[{{ caller() }}]", "{{ caller(p, 2) }}", "{{ caller }}", "{{ p }}", "{% for i in [1, 2] %}{{ caller(i) }}{% endfor %}"]) + "{% endmacro %}"
            self.macros.append(("f1", ["p"]))
        parameters = r.choice(["", "", "(p)", "(p, q='d')", "()"])
        return setup + self.tag("call%s %s" % (parameters, self.call_macro(1))) + self.block(depth) + self.tag("endcall")

    def s_filter(self, depth):
        return self.tag("filter " + self.fill(self.r.choice(STR_FILTERS), 1)) + self.block(depth) + self.tag("endfilter")

    def s_with(self, depth):
        saved = list(self.locals)
        text = self.r.choice(["with", "with p = %s" % self.e("any", 2), "with p = %s, q = %s" % (self.e("any", 1), self.r.choice(["p", self.e("any", 1)]))])
        self.locals += [("p", "any")]
        body = self.block(depth)
        self.locals = saved
        return self.tag(text) + body + self.tag("endwith")

    def s_raw(self, depth):
        return self.r.choice(["{% raw %}", "{%- raw %}", "{% raw -%}", "{%+ raw %}"]) + self.r.choice(["{{ x }}", "{% if %}", " \n ", "{#", "", "text\n"]) + self.r.choice(["{% endraw %}", "{%- endraw %}", "{% endraw -%}", "{%+ endraw %}", "{% endraw +%}"])

    def s_comment(self, depth):
        return self.r.choice(["{#", "{#-", "{#+", "{# "]) + self.r.choice([" c ", "", "{{ x }}", "\n", "%}"]) + self.r.choice(["#}", "-#}", "+#}", " #}"])

    def s_generation(self, depth):
        return self.tag("generation") + self.block(depth) + self.tag("endgeneration")

    def s_break(self, depth):
        if not self.in_loop and self.r.random() < 0.95:
            return self.output(2)
        word = self.r.choice(["break", "continue"])
        return self.tag("if " + self.e("bool", 1)) + self.tag(word) + self.tag("endif") if self.r.random() < 0.8 else self.tag(word)

    def s_print(self, depth):
        return self.tag("print %s, %s" % (self.e("any", 1), self.e("any", 1)))

    def s_bad(self, depth):
        """Source with a character dropped or doubled: both must see the fault, or neither."""
        text = self.statement(max(depth, 1))
        at = self.r.randrange(len(text))
        return text[:at] + self.r.choice(["", text[at] * 2]) + text[at + 1:]

    def template(self):
        return self.block(3, self.r.randrange(1, 4))


# Python computes huge powers and repeats huge texts for as long as memory lasts, where ours stops at a limit. A timer is
# looked at between the digits of such a number; less memory keeps short what does not look at it.
THEIR_SECONDS, THEIR_BYTES = 3, 1 << 30
# Our limits (src/text/jinja/limits.h) promise less than one; sanitizers take their share.
OUR_SECONDS = 20


class Ours:
    """Our program, kept running; one that ends or does not answer in time is started anew, and its silence is a difference."""

    def __init__(self, program):
        self.program = program
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=lambda: limit_memory(None))

    def seconds_used(self):
        """Of the processor: other programs do not count."""
        with open("/proc/%d/stat" % self.process.pid) as stat:
            user, system = stat.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def render(self, source, context):
        self.process.stdin.write(json.dumps({"template": source, "context": context}).encode() + b"\n")
        self.process.stdin.flush()
        started = self.seconds_used()
        while not select.select([self.process.stdout], [], [], 1)[0]:
            if self.seconds_used() - started > OUR_SECONDS:
                self.process.kill()
        answer = self.process.stdout.readline()
        if answer:
            return json.loads(answer)
        status = self.process.wait()
        self.start()
        return {"silence": "status %d, at most %d s" % (status, OUR_SECONDS)}


def limit_memory(most_bytes):
    """Of this process; None gives back what it had, for our program: sanitizers want more."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most if most_bytes is None else most_bytes, most))


class TooSlow(BaseException):
    """No Exception: jinja2 takes these for a constant that cannot be computed, and goes on."""


def raise_too_slow(*_):
    raise TooSlow()


def theirs(env, source, context):
    try:
        signal.setitimer(signal.ITIMER_PROF, THEIR_SECONDS, 1)  # again each second, should a destructor swallow the first
        try:
            return rendered_by_jinja2(env, source, context)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except TooSlow:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"slow": True}


def rendered_by_jinja2(env, source, context):
    compiled = None
    try:
        compiled = env.from_string(source)
        return {"output": compiled.render(copy.deepcopy(context))}  # `indent` of a list adds to the list
    except RecursionError:
        return {"error": "RecursionError"}
    except Exception as error:
        answer = {"error": "%s: %s" % (type(error).__name__, error)}
        if compiled is None and not isinstance(error, (jinja2.TemplateError, SyntaxError)):
            answer["folding"] = True
        return answer


REFUSALS = re.compile(r"is not supported|are not supported|does not fit 64 bits|limit of .* exceeded|tag '\w+' is not supported")


# Where we give an error and jinja2 a text, for a reason that no chat template meets.
STRICTER = [
    # jinja2 computes slices of literals while it compiles, and takes what fails for undefined.
    (r"is not subscriptable|unhashable type: 'slice'|slice indices must be integers", "slice of a literal"),
    # Python looks at some arguments only if it needs them: linecount of batch() against a length, indent of a tojson()
    # without items.
    (r"cannot be interpreted as an integer|indent is too large|separators must be two strings|truncate\(\) end must be str", "argument of a wrong type, unused"),
]


def judge(env, wanted, got):
    """The verdict: same, skip, slow, refused or stricter (with the reason), difference."""
    if "silence" in got:
        return "difference", ""
    if "slow" in wanted:
        return "slow", "jinja2 gives no answer in %d s: a huge power or text" % THEIR_SECONDS
    if " at 0x" in wanted.get("output", ""):
        return "skip", "jinja2 shows an address"
    if "output" in wanted:
        try:
            wanted["output"].encode()
        except UnicodeEncodeError:
            return "skip", "jinja2 gives a lone surrogate, which no UTF-8 can hold"
    if "output" in wanted and "output" in got:
        return ("same", "") if wanted["output"] == got["output"] else ("difference", "")
    if "error" in wanted and "error" in got:
        return "same", ""
    if "error" in got and REFUSALS.search(got["error"]):
        reason = re.sub(r"^template error at line \d+, column \d+: ", "", got["error"])
        return "refused", reason
    if "folding" in wanted:
        return "later", "jinja2 computes constants while it compiles, in branches that are never taken too: " + wanted["error"]
    unknown = re.search(r"No (filter|test) named '(.*)'\.$", got.get("error", ""))
    if unknown and unknown[2] not in (env.filters if unknown[1] == "filter" else env.tests):
        return "stricter", "unknown %s where jinja2 has computed the constant around it" % unknown[1]
    for pattern, reason in STRICTER:
        if "error" in got and "output" in wanted and re.search(pattern, got["error"]):
            return "stricter", reason
    return "difference", ""


def shrink(env, ours, source, context):
    """A smaller template with a difference."""
    def differs(text):
        return judge(env, theirs(env, text, context), ours.render(text, context))[0] == "difference"
    tokens = re.findall(r"\w+|\s+|[{%#-]*[{%#]|.", source, re.S)
    size = max(1, len(tokens) // 2)
    tries = 0
    while size >= 1 and tries < 600:
        at, changed = 0, False
        while at < len(tokens) and tries < 600:
            tries += 1
            candidate = tokens[:at] + tokens[at + size:]
            if differs("".join(candidate)):
                tokens, changed = candidate, True
            else:
                at += size
        if not changed or size > 1:
            size //= 2
    return "".join(tokens)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--no-shrink", action="store_true")
    arguments.add_argument("--most", type=int, default=1000, help="stop after so many differences")
    options = arguments.parse_args()
    env, ours, counts, refused = environment(), Ours(options.program), collections.Counter(), collections.Counter()
    limit_memory(THEIR_BYTES)
    signal.signal(signal.SIGPROF, raise_too_slow)
    for index in range(options.count):
        r = random.Random("%d/%d" % (options.seed, index))
        context = json.loads(json.dumps(pick_context(r)))
        source = Generator(r).template()
        wanted = theirs(env, source, context)
        got = ours.render(source, context)
        verdict, reason = judge(env, wanted, got)
        counts[verdict] += 1
        counts["rendered"] += "output" in wanted
        if verdict in ("skip", "slow", "refused", "stricter", "later"):
            refused["%s: %s" % (verdict, reason)] += 1
        if verdict != "difference":
            continue
        if not options.no_shrink:
            source = shrink(env, ours, source, context)
        wanted, got = theirs(env, source, context), ours.render(source, context)
        used = {k: v for k, v in context.items() if re.search(r"\b%s\b" % k, source)}
        print(json.dumps({"case": index, "template": source, "context": used, "wanted": wanted, "got": got}, ensure_ascii=False), flush=True)
        if counts["difference"] >= options.most:
            break
    print("renders %d, rendered by jinja2 %d, same %d, skipped %d, slow %d, refused %d, stricter %d, later %d, differences %d" % (
        sum(counts[k] for k in ("same", "skip", "slow", "refused", "stricter", "later", "difference")), counts["rendered"], counts["same"], counts["skip"],
        counts["slow"], counts["refused"], counts["stricter"], counts["later"], counts["difference"]), file=sys.stderr)
    for reason, count in refused.most_common():
        print("%d %s" % (count, reason), file=sys.stderr)
    return 1 if counts["difference"] else 0


if __name__ == "__main__":
    sys.exit(main())
