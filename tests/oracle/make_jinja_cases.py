"""Writes tests/data/jinja/cases.jsonl: small templates with what jinja2 makes of them, set up as transformers does.

usage: make_jinja_cases.py OUTPUT     (needs jinja2 3.1.6, Python 3.11; the clock stands at 2026-01-31 00:00:00)
"""
import datetime
import json
import re
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


class Namespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attrs = dict(*args, **kwargs)
        for name in attrs:
            Namespace._check(name)
        jinja2.utils.Namespace.__init__(self, attrs)

    def __setitem__(self, name, value):
        Namespace._check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError("Chat templates cannot store underscore-prefixed attributes")


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: datetime.datetime(2026, 1, 31).strftime(f)
    env.globals["namespace"] = Namespace
    return env


MESSAGES = [{"role": "system", "content": "S"}, {"role": "user", "content": "<think>a</think>\n b"},
            {"role": "assistant", "content": "x", "tool_calls": [{"n": 1}]}, {"role": "user", "content": ""}]
S, L = "héllo 世界", [0, 1, 2, 3, 4, 5, 6]
TEXTS = ["", " ", "a", "Hello World", "  two  words\t\n", "ÀÉÎ ß ŉ ﬁ", "ΑΣ ΑΣΑ Σ Σ.", "ǆ Ǆ ǅ", "x1 y²³ ⅷ 一", "a.b-c_d",
         "line1\nline2\r\nline3\rline4\u2028e\x0bf\x1cg", "<b>&\"'</b>", "İstanbul ıI", "they're o'neil", "éa", "42", "-7.5e3"]


def cases():
    both = dict(s=S, l=L, t=tuple(L))
    for part in ["::-1", "1:", ":-1", "-2:", "::2", "5:1:-2", "::0", "10:", ":100", "-100:2", "3:1", "::-3", "1:5:2", ":",
                 "none:2", "'a':", "-1:-4:-1"]:
        yield "{{ s[%s] }}|{{ l[%s] }}|{{ l[%s] | list }}" % (part, part, part), both
    # E2, E3
    loop = "{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}"
    yield ("{% for i in l %}{% for j in l %}{% if j == 2 %}{% continue %}{% endif %}{% if j > 3 %}{% break %}{% endif %}"
           "[" + loop + "]{% else %}never{% endfor %}{% if i > 1 %}{% break %}{% endif %}{% else %}E{% endfor %}", both)
    yield "{% for i in [1] %}{% break %}{% else %}else after break{% endfor %}", {}
    yield "{% for i in [1,2] %}{% continue %}{% else %}else after continue{% endfor %}", {}
    yield "{% set ns = namespace(found=false) %}{% set p = 0 %}{% for i in l %}{% set ns.found = true %}{% set p = i %}{% endfor %}{{ ns.found }}{{ p }}", both
    yield "{% for i in l if i not in ns.seen %}{% set ns.seen = ns.seen + [i, i + 1] %}{{ i }}{% endfor %}", both
    yield "{% set ns = namespace(seen=[]) %}{% for i in l if i not in ns.seen %}{% set ns.seen = ns.seen + [i, i + 1] %}{{ i }}{% endfor %}", both
    yield "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}{% for i in [1] %}{{ x }}{% set x = 3 %}{{ x }}{% endfor %}{{ x }}", {}
    yield "{% for i in [1,2] %}{{ x is defined }}{% set x = i %}{{ x }}{% endfor %}", {}
    yield "{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}{% set x = 2 %}{{ f() }}", {}
    yield "{% for i in [1,2] %}{% macro f() %}{{ i }}{% endmacro %}{{ f() }}{% endfor %}{{ f is defined }}", {}
    yield "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}{{ c is defined }}", {}
    yield "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}", {}
    yield "{% for a in tree recursive %}{{ a.n }}{{ loop.depth }}{% if a.c %}({{ loop(a.c) }}){% endif %}{% endfor %}", dict(
        tree=[{"n": 1, "c": [{"n": 2}, {"n": 3, "c": [{"n": 4}]}]}, {"n": 5}])
    yield "{% for x in l if x is odd %}{{ loop.index }}/{{ loop.length }}{{ loop.nextitem }}{{ loop.revindex0 }} {% endfor %}", both
    yield "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", {}
    yield "{% for a, b in [[1]] %}{% endfor %}", {}
    yield "{% for x in 5 %}{% endfor %}", {}
    yield "{% for loop in [1] %}{% endfor %}", {}
    yield "{% break %}", {}
    # Macros
    for call in ["f(1)", "f(1, 2, 3)", "f(a=1)", "f(1, c=5)", "f(*[1, 2])", "f(**{'b': 9})", "f(1, a=2)", "f(1, z=2)", "f()"]:
        yield "{% macro f(a, b='B', c=b) %}{{ a }}|{{ b }}|{{ c }}{% endmacro %}{{ " + call + " }}", {}
    yield "{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, k=4) }}", {}
    yield "{% macro f(a) %}{{ caller(a, 2) }}{% endmacro %}{% call(x, y) f(1) %}{{ x }}+{{ y }}{% endcall %}", {}
    yield "{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}", {}
    yield "{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}", {}
    yield "{% macro f() %}x{% endmacro %}{% call f() %}{% endcall %}", {}
    yield "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f('a') | upper }}{{ f }}{{ f.name }}{{ f.arguments }}", {}
    # tojson
    value = {"b": 1, "a": [1, 2.5, None, True, "q\"\\/\b\f\n\r\t\x01\x7f\u2028"], "c": "é—😀", "d": {}, "e": [], "f": {"z": 1, "y": []}}
    for a in ["", "(separators=(',', ':'))", "(sort_keys=True)", "(ensure_ascii=True)", "(indent=2)", "(indent='\\t')", "(indent=0)",
              "(indent=2, separators=(', ', ' = '))", "(bogus=1)", "(True)", "(false, 1)", "(indent=4, sort_keys=true)"]:
        yield "{{ v | tojson%s }}" % a, dict(v=value)
    yield "{{ [1e16, 1e15, 123456789012345680.0, 1e-4, 1e-5, 0.1, 1e22, 1.5e300, -0.0, 2e-310] | tojson }}{{ [1e16, 1e15, 1e-4, 1e-5] }}", {}
    yield "{{ {1: 'a', none: 2, true: 3, 1.5: 4} | tojson }}{{ {1: 'a', true: 'b'} }}", {}
    yield "{{ missing | tojson }}", {}
    yield "{{ {(1, 2): 3} | tojson }}", {}
    yield "{{ n }} {{ n | tojson }} {{ n is integer }} {{ n == n }}", dict(n=2 ** 70)
    # strftime_now
    yield "{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%A %a %B %y %m %H:%M:%S %I %p %j %U %W %w %u %% %-d %-m %e %F %T %D %c %x %X %Z%z %f') }}", {}
    # Texts: methods, filters and tests on all of them
    for text in TEXTS:
        yield ("{% for m in [s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), s.strip(), s.lstrip(), s.rstrip(), "
               "s.split(), s.rsplit(none, 1), s.split(none, 1), s.splitlines(), s.splitlines(true), s.split('l'), s.strip('aeH '), "
               "s.partition(' '), s.rpartition('l'), s.center(14, '*'), s.ljust(9, '.'), s.rjust(9), s.zfill(8), s.expandtabs(4), "
               "s.replace('l', 'LL'), s.replace('', '-', 3), s.find('l'), s.rfind('l'), s.count('l'), s.count(''), "
               "s.removeprefix('He'), s.removesuffix('ld'), s.casefold()] %}{{ m.__class__ is defined }}{{ [m] }}\n{% endfor %}", dict(s=text))
        yield ("{{ [s.isalpha(), s.isdigit(), s.isdecimal(), s.isnumeric(), s.isalnum(), s.isupper(), s.islower(), s.istitle(), s.isspace(), "
               "s.isascii(), s.isprintable(), s.isidentifier(), s is upper, s is lower] }}", dict(s=text))
        yield ("{{ [s | title, s | capitalize, s | upper, s | lower, s | trim, s | trim('l'), s | length, s | wordcount, s | reverse, s | first, "
               "s | last, s | list, s | indent, s | indent(2, true, true), s | indent('> ', blank=true), s | truncate(5), s | truncate(5, true), "
               "s | truncate(6, false, '!', 0), s | replace('l', 'L', 1), s | urlencode, s | e, s | center(20), s | string, s | int, s | float, "
               "s | int(3), s | default('d', true), s | batch(3) | list, s | unique | list, s | sort, s | join('-'), s | tojson, s | safe, "
               "s | forceescape, s | format] }}", dict(s=text))
    yield "{{ 'abcabc'.find('c', 3) }}{{ 'abcabc'.index('b', -3) }}{{ 'abc'.find('', 4) }}{{ 'abc'.startswith('b', 1) }}{{ 'abc'.endswith('b', 0, 2) }}{{ 'aXa'.count('a', 1) }}", {}
    for e in ["'abc'.index('z')", "'a'.split('')", "'a'.join([1])", "''.join(['a', 'b'])", "'a'.nope()", "'a'.nope", "'abc'.startswith(1)",
              "'x'.startswith(('x', 'y'))", "'a' * -1", "'ab' * 2", "[1] * 2", "2 * (1, 2)", "'a' - 1", "[1] + (2,)", "1 + none", "-'a'", "+true", "not 'a'"]:
        yield "{{ %s }}" % e, {}
    # Numbers
    for e in ["7 // -2", "-7 % -3", "7.5 // 2", "-7.5 % 2", "2 ** -1", "2 ** 0.5", "0 ** 0", "-2 ** 2", "2 ** 3 ** 2", "1 / 3", "10 % 3.5", "1e308 * 10", "true + 1",
              "5 | round", "2.5 | round", "3.5 | round", "2.675 | round(2)", "1234.5 | round(-2)", "15 | round(-1)", "2.1 | round(method='ceil')",
              "2.19 | round(1, 'floor')", "'12' | int + 1", "'0x1f' | int(base=16)", "'1_000' | int", "' 7 ' | int", "'1e3' | int", "none | int", "[] | int(5)",
              "'inf' | float", "'nan' | int", "'x' | float(2.5)", "3.99 | int", "-3.99 | int", "-5 | abs", "1 % 0", "1 // 0", "1.0 / 0", "'a' | abs", "'a' | round",
              "1 == true", "1 is sameas true", "1.0 == 1", "0.1 + 0.2", "1e16 + 1", "100 * 1.1", "3 | float", "1000 | filesizeformat", "1 | filesizeformat",
              "123456789 | filesizeformat(true)", "12.0", "1e5", "1E-7", "0x1F", "0b101", "0o17", "1_0.5_0", "007", "1.e5", "9223372036854775807", "1 < 2 > 1", "1 < 2 < 2",
              "3 is divisibleby 3", "2.0 is even", "'a' is odd", "5 is gt 3", "5 is in [5]", "5 is not in [5]", "3 is ge(3)"]:
        yield "{{ %s }}" % e, {}
    # Comparison and membership
    for e in ["1 < 'a'", "'b' > 'a'", "[1, 2] < [1, 3]", "(1,) < (1, 2)", "[1] == (1,)", "{'a': 1} < {}", "none < 1", "missing < 1", "missing == missing",
              "missing == none", "missing in [1]", "1 in missing", "1 in 'a'", "'' in 'abc'", "1 in 5", "[] in {}", "'a' in {'a': 1}", "3 in range(5)", "'a' in {'a': 1}.keys()",
              "('a', 1) in {'a': 1}.items()", "1 in {'a': 1}.values()", "missing not in missing", "'b' not in 'abc'", "not 1 in [1]", "none in [none]"]:
        yield "{{ %s }}" % e, {}
    # Containers and filters
    d = dict(d={"b": 1, "a": [1, 2], "C": {"x": None}}, m=MESSAGES, l=[3, 1, 2, 3, 1], w=["b", "A", "c", "a"], n=None)
    for e in ["d", "d.b", "d['b']", "d.zz", "d.zz is defined", "d.zz.y", "d.keys()", "d.values()", "d.items()", "d | items | list", "d.get('q', 5)", "d.get('q')", "d.get()",
              "d | dictsort", "d | dictsort(true)", "d | dictsort(by='value')", "d | dictsort(reverse=true)", "d | length", "d | list", "d | first", "d | last", "d | join", "d.items() | list",
              "d.pop('b')", "d.update({})", "d.copy()", "d.a.append(1)", "d.a.append is defined", "d.a.index(2)", "d.a.count(1)", "d.a.index(9)", "d.__class__", "d.a.__len__()", "d._x",
              "d | tojson", "d | string", "d ~ ''", "d == d", "d | attr('get')", "d | attr('b')", "d | map('upper') | list", "d | select | list", "d['keys']", "d.items", "l.x", "n.x", "n['x']", "n[0]", "5[0]", "l['a']", "l[none]", "l[true]", "l[1.0]", "l[1, 2]",
              "l | sort", "l | sort(reverse=true)", "w | sort", "w | sort(case_sensitive=true)", "w | unique | list", "l | unique | list", "l | min", "l | max", "w | min", "w | max(case_sensitive=true)", "[] | min", "[] | first", "[] | last", "[] | sum", "l | sum", "l | sum(start=10)", "w | sum",
              "w | join(', ')", "w | join('-', attribute='x')", "l | reverse | list", "w | reverse | join", "l | batch(2) | list", "l | batch(2, 'x') | list", "l | slice(2) | list", "l | slice(3, 0) | list", "l | length", "l | count", "l | string", 
              "l | first", "l | last", "l | list", "5 | length", "none | length", "5 | list", "none | list", "5 | first", "5 | join", "missing | join", "missing | first", "missing | list", "missing | sort", "missing | reverse | list", "missing | sum", "missing | int", "missing | items | list", "5 | items", "5 | items | list",
              "missing | upper", "missing | trim", "missing | default('x')", "missing | length", "missing.x | default('x')", "d.zz | default('x')", "none | upper", "none | trim", "5 | upper", "none | default('x')", "none | default('x', true)", "missing | string", "missing | replace('a', 'b')", "missing | round", "missing ~ 1", "missing + 1", "-missing", "missing()", "missing[1:]", "missing | map('upper') | list", "missing | selectattr('a') | list",
              "m | map(attribute='role') | list", "m | map(attribute='role') | join(',')", "m | map(attribute='tool_calls.0.n') | list", "m | map(attribute='tool_calls.0.n', default=0) | list", "m | selectattr('role', 'equalto', 'user') | list | length", "m | selectattr('tool_calls', 'defined') | map(attribute='role') | list", "m | rejectattr('role', 'in', ['system', 'user']) | map(attribute='role') | list", "m | selectattr('content') | list | length", "m | rejectattr('content') | list | length",
              "w | reject('in', ['a', 'b']) | list", "w | select('in', ['a', 'b']) | list", "w | map('upper') | list", "w | map('replace', 'a', 'z') | list", "w | map('nosuch') | list", "w | select('nosuch') | list", "w | map | list", "w | map(attribute=0) | list", "w | selectattr | list", "m | groupby('role')", "m | groupby('role') | map(attribute='grouper') | list", "(m | groupby('role'))[0].list | length", "m | sort(attribute='role') | map(attribute='role') | list", "m | sort(attribute='role,content') | map(attribute='content') | list", "m | map('length') | list", "m | map(attribute='role') | unique | list", "m | sum(attribute='x')",
              "m | min(attribute='role')", "w | map('upper') | first", "(w | map('upper')) | length", "(w | map('upper'))[0]", "w | map('upper') is iterable", "w | map('upper') is sequence", "range(5) is sequence", "d.keys() is sequence", "d.keys() is iterable", "missing is iterable", "missing is sequence", "none is iterable", "5 is iterable", "d is iterable", "d is sequence", "d is mapping", "l is mapping", "'a' is iterable", "missing is string", "missing is callable", "range is callable", "d.get is callable",
              "range(3)", "range(1, 10, 3)", "range(5, 0, -2) | list", "range(0)", "range(3)[1]", "range(10)[2:5]", "range(10)[::-3] | list", "range('a')", "range(1, 2, 0)", "range(5) | last", "range(5) | sum", "range(3) == range(3)", "dict(a=1)", "dict([('a', 1)], b=2)", "dict({'x': 1})", "namespace(a=1)", "namespace(a=1).a", "namespace({'x': 2}).x", "namespace(_a=1)", "namespace(a=1)['a']", "namespace(a=1).b", "cycler('a', 'b').next()", "lipsum is defined"]:
        yield "{{ %s }}" % e, d
    yield "{% set j = joiner('|') %}{% for i in l %}{{ j() }}{{ i }}{% endfor %}{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}", d
    yield "{% set x = 5 %}{% set x.y = 1 %}", {}
    yield "{% set ns = namespace() %}{% set ns._x = 1 %}", {}
    yield "{% set ns = namespace(a=1) %}{% set ns.a, b = 2, 3 %}{{ ns.a }}{{ b }}{{ ns }}", {}
    yield "{% set true = 1 %}", {}
    yield "{% set x %}a{{ 1 }}{% endset %}{{ x }}{% set y | upper | trim %} b {% endset %}[{{ y }}]", {}
    # Markup
    for e in ["'<a>' + ('<b>' | safe)", "('<b>' | safe) + '<a>'", "('<b>' | safe) ~ '<a>'", "('%s' | safe) % '<a>'", "('{}' | safe).format('<')", "('<' | safe).replace('<', '<<')", "('<' | safe) * 2", "['<' | safe]",
              "('a<' | safe).upper() + '<'", "('<' | safe) | string + '<'", "('<' | safe) | tojson", "('<' | safe) is escaped", "('-' | safe).join(['<', '>'])", "('a b' | safe).split() | first + '<'", "('<' | safe)[0] + '<'", "('<' | safe) == '<'", "'<' | e | e", "('<x>' | safe) | trim + '&'", "('<' | safe) | replace('<', '>') + '<'"]:
        yield "{{ %s }}" % e, {}
    # Formats
    for e in ["'%s %r %d %5.2f|%-5s|%05d|%+d|%x|%X|%o|%e|%g|%%|%c' % ('a', 'b', 3, 2.345, 'l', 42, 7, 255, 255, 8, 12345.678, 0.0001, 'z')", "'%(a)s-%(b)03d' % {'a': 1, 'b': 2}", "'%s' % [1]", "'%s %s' % 'a'", "'%s' % ('a', 'b')", "'%d' % 'a'", "'%d' % 3.7", "'%5s' % 'é'", "'%.2s' % 'héllo'", "'%s' % missing", "'%s' % none", "'%i%%' % 5", "'%#x' % 255", "'%*d' % (5, 42)", "'% d' % 4", "'a' % ()", "'%z' % 1",
              "'{} {} {0}'.format(1, 2)", "'{0} {1} {0}'.format('a', 'b')", "'{a} {b!r} {c[0]} {d[x]}'.format(a=1, b='q', c=[5], d={'x': 6})", "'{:>5}|{:<5}|{:^5}|{:*^7}|{:05d}|{:+}|{:,}|{:.3f}|{:e}|{:%}|{:x}|{:#x}|{:b}'.format('a', 'b', 'c', 'd', 42, 3, 1234567, 3.14159, 12345.6, 0.25, 255, 255, 5)", "'{{}}{}'.format(1)", "'{'.format()", "'}'.format()", "'{}'.format()", "'{x}'.format()", "'{:d}'.format('a')", "'{:5}'.format(true)", "'{}'.format(none)", "'{:5}'.format(none)", "'{:.1f}'.format(2)", "'{:{}}'.format('a', 5)", "'{:,.2f}'.format(1234567.891)", "'{:g}'.format(1e10)", "'{:.3}'.format(3.14159)", "'{:.3}'.format('abcdef')", "'{:010.3f}'.format(-3.14159)", "'{:s}'.format('x')"]:
        yield "{{ %s }}" % e, {}
    # White space and syntax
    for t in ["a\n  {%- if true %}\n b\n  {%- endif %}\n c", "  {% if true %}\n  x\n  {% endif %}\ny", "  {%+ if true %}x{% endif %}", "a {{- 1 -}} b", "a {{+ 1 }} b", "{# c #}\nx", "{#- c -#}  x", "  {# c #}  \nx", "x\n\n", "x\n", "\r\nx\r\n\r\n",
              "{% raw %}\n {{ x }} {% endraw %}\ny", " {%- raw -%} {{ x }} {%- endraw -%} y", "{% raw %}{% endraw", "{{ '}}' }}", "{{ \"%}\" }}", "{{ {'a': {'b': 1}}.a.b }}", "{{ {'a': 1}}}", "{% if true -%}  x  {%- endif %}", "{%if true%}x{%endif%}", "{{1}}{{2}}", "{", "{{", "{%", "{#", "{{ }}", "{% %}", "{{ 1 }", "{% if %}{% endif %}", "{% endif %}", "{% if true %}{% endfor %}", "{% for x in %}{% endfor %}", "{% for in l %}{% endfor %}", "{% else %}",
              "{{ (1 }}", "{{ [1, 2 }}", "{{ 1 ] }}", "{{ 'abc }}", "{{ a b }}", "{{ 1 2 }}", "{{ a. }}", "{{ a | }}", "{{ a is }}", "{{ a is nosuch }}", "{{ a ! b }}", "{{ $ }}", "{{ f(a=1, 2) }}", "{{ f(a=1, a=2) }}", "{{ f(,) }}", "{{ [1,] }}", "{{ {'a': 1,} }}", "{{ (1,) }}", "{{ 1, 2 }}", "{{ a if b else }}", "{{ x if true if false else 3 }}", "{% set x %}", "{% set 1 = 2 %}", "{% set x = %}", "{% macro 1() %}{% endmacro %}", "{% macro f(a, a) %}{% endmacro %}", "{% macro f(a=1, b) %}{% endmacro %}", "{% call 1 %}{% endcall %}", "{% call f %}{% endcall %}",
              "{% if x | nosuch %}{% endif %}", "{% if false %}{{ 1 | nosuch }}{% endif %}ok", "{% if true %}{{ 1 | nosuch }}{% endif %}ok", "{% print 1, 2 %}", "{% if true: %}x{% endif %}", "{{ 'a' 'b' }}", "{{ '\\x41\\u00e9\\U0001F600\\101\\q\\\n' }}", "{{ '\\x4' }}", "{{ '\\é' }}", "{{ 'a\nb' }}", "{{ 'a\r\nb' }}", "{{ a.0 }}", "{{ [[1]].0.0 }}", "{{ é }}", "{{ true.x }}", "{{ 'a'|upper|lower }}", "{{ ('a'|upper) ~ 'b' }}", "{{ 1 + 2 ~ 3 + 4 }}", "{{ 2 * 3 ~ 4 }}", "{{ -1 | abs }}", "{{ not true == false }}", "{{ 1 in [1] == true }}", "{{ true and false or true }}", "{{ 1 if 0 }}x", "{{ [x for x in l] }}", "{{ a.b.c }}", "{{ loop }}", "{% for i in [1] %}{{ loop }}{% endfor %}", "{{ True }}{{ None }}{{ False }}", "{{ 1 is not none }}", "{{ x is not defined and true }}", "{{ 'a' is in 'abc' }}", "{{ [1,2] is sameas [1,2] }}", "{% filter upper | replace('A', 'b') %}a{{ 'c' }}{% endfilter %}", "{% filter nosuch %}{% endfilter %}", "{{ 'x' is filter }}{{ 'upper' is filter }}{{ 'odd' is test }}", "{{ raise_exception('a' ~ 1) }}", "{{ raise_exception() }}", "{{ 5() }}", "{{ 'a'() }}"]:
        yield t, dict(a={"0": "z"}, l=[1])

    yield from differential_cases()


def differential_cases():
    """Where differential_jinja.py found us different, one case each."""
    d = dict(m=MESSAGES, l=[3, 1], d={"a": 1, "b": "x"}, s="a")
    # Names belong to the scope that sets them, from its beginning.
    for t in ["{% for i in l %}{{ s is defined }}{% endfor %}{% set s = 1 %}", "{{ s }}{% for i in l %}{{ s }}{% endfor %}{% set s = 1 %}{{ s }}",
              "{% for i in l %}{{ s }}{% endfor %}{% if d %}{% set s = 1 %}{% endif %}", "{% for i in l %}{{ s is defined }}{% endfor %}{% if d %}{% set s = 1 %}{% elif l %}{% set s = 2 %}{% else %}{% set s = 3 %}{% endif %}{{ s }}",
              "{% for i in l %}{{ s is defined }}{% endfor %}{% if d %}{% set s = 1 %}{% elif l %}{% else %}{% set s = 3 %}{% endif %}", "{% macro f() %}{{ s is defined }}{% endmacro %}{{ f() }}{% set s = 1 %}{{ f() }}",
              "{% set x = 1 %}{% for i in l %}{% for j in l %}{{ x }}{% endfor %}{% set x = 2 %}{% for j in l %}{{ x }}{% endfor %}{% endfor %}", "{% for i in l %}{{ s is defined }}{% endfor %}{% macro s() %}{% endmacro %}",
              "{% for i in l %}{{ s is defined }}{% endfor %}{% set s %}{{ s is defined }}{% endset %}", "{% with %}{{ s is defined }}{% endwith %}{% for x in l %}{% else %}{% set s = 1 %}{% endfor %}{% set s = 1 %}",
              "{% for i in l %}{{ ns is defined }}{% endfor %}{% set ns = namespace() %}{% set ns.a = 1 %}", "{% for i in l %}{{ s }}{% endfor %}{% for s in l %}{% endfor %}", "{% call(x) f() %}{{ s is defined }}{% endcall %}{% set s = 1 %}{% macro f() %}{% endmacro %}",
              "{% generation %}{{ s is defined }}{% endgeneration %}{% set s = 1 %}", "{% filter upper %}{{ s is defined }}{% endfilter %}{% set s = 1 %}{% filter upper %}{{ s is defined }}{% endfilter %}"]:
        yield t, d
    # Macros, blocks and unknown names
    for t in ["{% macro f() %}{{ caller }}{{ caller.name }}{% endmacro %}{% call f() %}{% endcall %}", "{% filter length %}abc{% endfilter %}", "{% filter attr('x') %}a{% endfilter %}", "{% filter upper %}a{% endfilter %}",
              "{{ [] | map('nosuch') | list }}{{ [] | select('nosuch') | list }}{{ '' | map('nosuch') | list }}", "{{ [] | map | list }}", "{{ l | map('nosuch') | list }}", "{{ (1 | nosuch) if false else 2 }}", "{{ 1 if true else (2 is nosuch) }}", "{{ (1 | nosuch) if true else 2 }}",
              "{% if false %}{% for x in l | nosuch %}{% endfor %}{% endif %}", "{% if false %}{% for x in l %}{{ x | nosuch }}{% endfor %}{% endif %}", "{% set ns = namespace(a=namespace(b=1)) %}{{ ns }}{{ [ns] }}", "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "{% for x in l if x > 1 %}{{ loop }}{% endfor %}"]:
        yield t, d
    for t in ["{% macro f(a, s=s) %}{{ s is defined }}{% endmacro %}{{ f(1) }}{{ f(1, 2) }}", "{% macro f(a=b, b=a) %}{{ a }}|{{ b }}{% endmacro %}{{ f() }}{{ f(1) }}{{ f(b=2) }}", "{% set b = 5 %}{% macro f(a=b, b=1) %}{{ a }}{{ b }}{% endmacro %}{{ f() }}", "{{ ('-' | safe).join([1, '<', [2]]) }}"]:
        yield t, d
    for e in ["''.expandtabs(4611686018427387904)", "l | batch(0) | list", "[] | batch(0) | list", "l | batch(0, 'x') | list", "l | batch(-1) | list", "'%*d|' % (-7, 5)", "'%-*d|%*d|' % (-4, 5, 4, 5)", "'%.*f' % (-2, 1.5)", "'%*s' % (-3, 'a')", "l | sort(reverse='x')", "l | sort(reverse=none)", "d | dictsort(reverse='x')", "l | sort(1)", "'a\nb'.splitlines('x')", "'a\nb'.splitlines(1)", "[] is filter", "[] is test", "{} is filter", "1 is filter", "dict(missing)", "'{:3}'.format(missing)", "'{}'.format(missing)",
              "'{:_}'.format('a')", "'{:,}'.format('a')", "'{:+}'.format('a')", "'{: }'.format('a')", "'{:c}'.format(65)", "'{:c}|{:>3c}|{:c}'.format(true, 233, 0x1F600)", "'{:c}'.format(-1)", "'{:+c}'.format(65)", "'{:<05}'.format(5)", "'{:^07}|{:*<05}|{:05}'.format(5, 5, 5)", "'{:05}|{:<05}'.format('a', 'b')", "'{:<05.1f}'.format(1.5)",
              "'{0[0]}{}'.format('ab')", "'{0.x}{}'.format('ab')", "'{}{0}'.format(1)", "'{0}{}'.format(1)", "'{}{0[0]}'.format('ab')", "'{.x}'.format(1)", "'{[0]}'.format('a')", "'%5%' % ()", "'%%' % ()", "'%-%' % 1", "'a' % [1]", "'a' % {}", "'a' % missing", "'a' % range(2)", "'a' % 1", "'a' % (1,)", "'%s' % []",
              "(-0.0) | round(method='floor')", "(-0.5) | round(method='ceil')", "(-0.5) | round", "'\u0663' | int", "'\u0663\u0661.\u0665' | float", "'\u096b_\u096c' | int", "'\U0001D7D9' | int", "'\u0663' | int(base=16)", "'a-b'.partition('-' | safe)", "('a-b' | safe).partition('-')", "'a-b'.rpartition('-' | safe)",
              "d | truncate", "l | truncate(1)", "missing | truncate", "l | truncate(5)", "5 | truncate", "'a'.center(-9223372036854775807)", "'a'.zfill(-9223372036854775807)", "'a'.ljust(-5)"]:
        yield "{{ %s }}" % e, d
    yield "{{ v | tojson }}", dict(v={"b": 1, "a": [1, 2], "c": "é—"})
    for e in ["m[1].content.split('</think>')[-1].lstrip('\\n')", "m | rejectattr('role', 'equalto', 'user') | list | length", "['a', 'b'] | reject('in', ['a']) | list", "d.items() | list", "d.keys() | list", "d.get('k', 'none')", "s is string and d is mapping and l is iterable and q is not defined and none is none",
              "'a' ~ 1 ~ none", "'x' if l else 'y'", "'x' if q"]:
        yield "{{ %s }}" % e, d
    for f in ["%C %g %G %V %k %l %P", "%-C %-g %-V %-k %-l", "%_d %_m %_H %_j %0e %0k", "%-a %_F %0T %-n %-%", "%i %Q %-Q %: \u00e9%", "%-", "%"]:
        yield "{{ strftime_now('%s') }}" % f, {}

    for t in ["{{ '{:-1}'.format('') }}", "{{ '{:-5}|{:-}'.format(3, 2.5) }}", "{{ '{:-c}'.format(65) }}", "{{ '% +d|%+ d|% d|%-5d|' % (1, 2, 3, 4) }}", "{{ 25 | round(1000, 'ceil') }}", "{{ -7 | round(2, 'floor') }}",
              "{{ true | round(400, 'floor') }}", "{{ 1.5 | round(400, 'floor') }}", "{{ range(0, 20)[1::5] }}", "{{ range(10)[::-3] }}", "{{ range(1, 10, 3)[5:1] }}", "{{ range(20, 0, -3)[1:-1:2] }}", "{{ '%c|%3c|%-3c|' % (65, 233, 128512) }}", "{{ '%c' % false }}", "{{ '%c' % 1114112 }}",
              "{% macro f() %}{{ caller is defined }}{% endmacro %}{% if false %}{% call f(caller=none) %}{% endcall %}{% endif %}",
              "{{ 'abc' | truncate(1, true, missing, 2) }}",
              "{{ missing.__class__ is eq(1) }}|{{ missing.__class__ }}|{{ missing._undefined_name is eq(1) }}|{{ (missing | attr('__len__')) is eq(1) }}", "{{ missing.__foo__ is eq(1) }}", "{{ missing['__class__'] is eq(1) }}", "{{ missing._foo is eq(1) }}",
              "{{ (3 / 3.14159) | round(100, 'ceil') }}|{{ 2.675 | round(2, 'floor') }}|{{ 0.1 | round(23, 'ceil') }}|{{ 1.1 | round(25, 'floor') }}|{{ -0.4 | round(0, 'ceil') }}|{{ 12345.678 | round(-2, 'ceil') }}|{{ 1e-200 | round(210, 'floor') }}",
              "{% generation %}{{ varargs }}{{ kwargs }}{{ caller }}|{{ caller is defined }}{% endgeneration %}", "{% macro f() %}{% generation %}{{ varargs }}{{ kwargs }}{{ caller is defined }}{% endgeneration %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, a=2) }}",
              "{% macro f() %}{{ caller() }}{% generation %}{{ caller() }}{% endgeneration %}{% endmacro %}{% call f() %}x{% endcall %}", "{% generation %}{% set varargs = 3 %}{{ varargs }}{% endgeneration %}|{{ varargs }}",
              "{{ 'a' | tojson(indent=missing) }}", "{{ [1] | tojson(indent=missing) }}", "{{ 'a'.splitlines(2147483648) }}", "{{ 'a'.splitlines(-2147483648) }}", "{{ [2, 1] | sort(2147483648) }}",
              "{{ [] | batch(missing) | list }}|{{ [1, 2] | batch(missing) | list }}|{{ [1, 2] | batch('x') | list }}|{{ [] | batch('x', 1) | list }}", "{{ [1, 2] | batch('x', 1) | list }}", "{{ [1] | batch(missing, 1) | list }}",
              "{{ {}.values() is filter }}|{{ {{}.values(): 1} | length }}", "{{ {}.keys() is filter }}", "{{ {}.items() is filter }}",
              "{% for a in [1,2] %}{% for b in [] %}x{% else %}{% break %}{% endfor %}y{% else %}E{% endfor %}", "{% for a in [1,2] %}{{ a }}{% for b in [] %}x{% else %}{% continue %}{% endfor %}y{% else %}E{% endfor %}",
              "{% for a in [1,2] %}{% for b in [3] %}{% break %}{% else %}{% break %}{% endfor %}y{% else %}E{% endfor %}", "{% for a in [1,2] %}{% for b in [] recursive %}x{% else %}{% break %}{% endfor %}y{% else %}E{% endfor %}", "{% for a in [[1],[]] %}{% for b in a %}x{% else %}{% break %}{% endfor %}y{% endfor %}",
              "{% set s = '-' %}{% filter join(s) %}{% set s = '+' %}text{% endfilter %}{{ s }}", "{% filter join(s) %}{% set s = '+' %}text{% endfilter %}{{ s }}|", "{% set s = '-' %}{% for i in [1, 2] %}{% filter join(s) %}abc{% set s = i %}{% endfilter %}{% endfor %}{{ s }}",
              "{% set s = '-' %}{% set t | join(s) %}{% set s = '+' %}text{% endset %}{{ t }}{{ s }}", "{{ 'abcdefgh' | truncate(1, true, missing, 2) }}"]:
        yield t, {}
    for text in ["\u0663", "a\u0663", "_", "", "1a", "\u00aa\u00b7", "\u00b7", "a\u0301", "\u0301", "\u2118\u212e", "\u037a", "a\u00b2", "\u2167", "\u309b", "a\u200d"]:
        yield "{{ v.isidentifier() }}", dict(v=text)
    yield "{{ '{:7}|{:>30}|{:<25}|{:+,d}|{:_}|{:030}'.format(v, v, v, v, v, v) }}", dict(v=1 << 70)
    yield "{{ '{:=30}|{: n}|{:*^30}'.format(v, v, v) }}", dict(v=-(1 << 70))

    yield from number_cases()
    yield from format_cases()
    yield from markup_cases()
    yield from identity_cases()


def number_cases():
    """Integers beyond 64 bits and the edge of it, exact order and division, rounding, numbers out of text."""
    d = dict(big=2 ** 70, low=-2 ** 70, even=2.0 ** 70, edge=2 ** 63, last=2 ** 63 - 1, first=-2 ** 63, near=2.0 ** 63, odd=2 ** 53 + 1, huge=int(1.7e308), inf="inf", nan="nan", s="abc", l=[3, 1, 2])
    for e in ["[big == even, even == big, big != even, big < even, big <= even, big > 1, low < 1, big > low, 1 < big, low > first]",
              "[last == near, last < near, edge == near, near > last, first == -near, odd == 9007199254740992.0, odd > 9007199254740992.0, -odd < -9007199254740992.0]",
              "[(inf | float) > huge, huge < (inf | float), -(inf | float) < low, (nan | float) < big, big == (nan | float), 0 > -0.5, 0 < 0.5, -1 < -0.5, true < big]",
              "[big, 1, even, low, 1e22, true, 0.5, last, near, edge, huge] | sort", "[big, 1, even, low, 1e22, last, near] | sort(reverse=true)", "[low, even, big, edge] | max", "[even, big, low] | min",
              "[big, even, low, edge, near, odd, 9007199254740992.0] | unique | list", "{big: 1, even: 2, low: 3}", "{even: 1}[big]", "{big: 'x'}[even]", "[even in [big], big in [even, 1], even in {big: 1}, low in [even]]",
              "[1, even, big] | select('ge', big) | list", "[1, 1e22, low] | select('gt', big) | list", "[big, low] | map('float') | list", "[big, low, 2.5] | map('abs') | list", "[big, 7] | map('round') | list",
              "[-big, +big, -low, -edge, -first, +true, -true, - -first]", "[big | abs, low | abs, first | abs, edge | int, big | float, big | int, big | string]", "big | tojson", "huge * 10.0", "big + 0.5", "1.5 - big", "big * 2.0", "big / 2.5", "2.5 / big", "big // 2.5", "big % 2.5", "big ** 0.5", "2.0 ** big", "0.5 ** big", "big / 0.0", "1e300 * huge",
              "9223372036854775807 / 3", "last / 7", "first / 3", "odd / 1", "odd / 3", "3 / odd", "first / -1", "first / first", "0 / -5", "last / 9007199254740991", "1 / 3",
              "big | round", "big | round(2)", "big | round(-2)", "low | round(-21)", "big | round(-22)", "big | round(-30)", "last | round(-1)", "last | round(-18)", "last | round(-19)", "first | round(-3)", "15 | round(-1)", "25 | round(-1)", "-15 | round(-1)", "999 | round(-1)", "5 | round(big)", "2.5 | round(big)", "2.5 | round(low)",
              "big | round(0, 'floor')", "big | round(2, 'ceil')", "low | round(-3, 'ceil')", "5 | round(-400, 'ceil')", "25.0 | round(-1)", "35.0 | round(-1)", "25.000001 | round(-1)", "-25.0 | round(-1)", "1234567.891 | round(-3)", "1e300 | round(-300)", "1.7e308 | round(-308)", "0.0 | round(-2)", "5.0 | round(-1)", "4.0 | round(-1)", "(inf | float) | round(-1)",
              "s[big:]", "s[:big]", "s[low:big]", "l[::big]", "l[::low]", "l[big]", "s[low] is defined", "s.find('c', low, big)", "s.startswith('a', low)", "s.count('', big)", "l.index(2, low, big)", "s | truncate(big)", "l | batch(big) | list", "l | batch(low, 0) | list", "l | slice(low) | list", "s * big", "range(big)", "s.center(big)", "s | indent(big)", "[] | sum(start=big)",
              "'1180591620717411303424' | int", "'-01_180591620717411303424' | int + 0.0", "' 99999999999999999999 ' | int", "'42' | int(0, none)", "'0x1F' | int(0, 16.0)", "'4.5' | int(0, missing)", "'42' | int(0, big)", "5 | int(0, 'x')", "1e22 | int", "-1e22 | int", "(inf | float) | int", "(inf | float) | int(7)", "(nan | float) | int(7)", "inf | int(7)",
              "0.5 | filesizeformat", "-0.5 | filesizeformat", "-1e22 | filesizeformat", "1e22 | filesizeformat", "1e300 | filesizeformat", "big | filesizeformat(true)", "(inf | float) | filesizeformat", "999999 | filesizeformat", "1000000 | filesizeformat", "1048575 | filesizeformat(true)", "'5e3' | filesizeformat", "'x' | filesizeformat", "none | filesizeformat", "missing | filesizeformat",
              "[big is number, big is integer, big is float, even is float, big is none, big is defined, big is sameas(big)]", "() is sameas(())", "() is sameas((1,))"]:
        yield "{{ %s }}" % e, d


def format_cases():
    """Numbers in formatted text, by % and by format()."""
    d = dict(big=2 ** 70, low=-2 ** 70, huge=int(1.7e308), inf="inf", s="ab")
    for f in ["%2f", "%.2f", "%e", "%.3E", "%g", "%.15g", "%G", "%d", "%i", "%30d", "%-30d|", "%030d", "%+d", "% d", "%.25d", "%s", "%5.3s", "%r", "%c"]:
        yield "{{ '%s' %% big }}|{{ '%s' %% low }}" % (f, f), d
    for f in ["{:f}", "{:.3f}", "{:e}", "{:.2E}", "{:g}", "{:.20g}", "{:G}", "{:%}", "{:.1%}", "{:,.2f}", "{:_.1f}", "{:+.0f}", "{:040.2f}", "{:>40.1f}", "{:,}", "{:d}", "{:.2}", "{:c}"]:
        yield "{{ '%s'.format(big) }}|{{ '%s'.format(low) }}" % (f, f), d
    for e in ["'%f' % huge | length", "'%d' % 1e22", "'%d' % -1e22", "'%5d' % 2.9", "'%d' % (inf | float)", "'%x' % 1.5", "'%f' % (huge, )", "'%d' % '5'", "'%f' % '5'", "'%d' % missing", "'%.*f' % (3000000000, 1.5)", "'%*d' % (big, 1)",
              "'%05c|%+5c|%-5c|' % ('a', 'b', 'c')", "'%05c' % 65", "'%c' % big", "'%#.5x|%#8.3o|%+#x' % (42, 8, 255)", "'%.5d|%08.3d|%+.3d' % (42, -7, 7)"]:
        yield "{{ %s }}" % e, d
    # The alternate form, and how many digits a number without a type has.
    for v in ["1.5", "25.0", "0.0", "1e22", "123456.789", "-2.0", "1e-5", "7"]:
        yield "{{ '%%#g|%%#.3g|%%#.0f|%%#.0e|%%#G|%%#.1g' %% (%s, %s, %s, %s, %s, %s) }}" % ((v,) * 6), {}
        yield "{{ '{:#}|{:#g}|{:#.3g}|{:#.0f}|{:#.0e}|{:#.0%%}|{:#n}|{:#010.2f}'.format(%s, %s, %s, %s, %s, %s, %s, %s) }}" % ((v,) * 8), {}
        yield "{{ '{:.0f}|{:.1f}|{:.2f}|{:.3f}'.format(%s, %s, %s, %s) }}" % ((v,) * 4), {}
    for v in ["1.5", "25.0", "0.0", "1e22", "123456.789", "-2.0", "1e-5", "0.25"]:
        yield "{{ '{:.0}|{:.1}|{:.2}|{:.3}|{:#.2}|{:,.2}|{:+.7}|{:012.3}'.format(%s, %s, %s, %s, %s, %s, %s, %s) }}" % ((v,) * 8), {}
        yield "{{ '{:z.0f}|{:z.1f}|{:+z.0f}|{:z}|{: z.0e}|{:z.0%%}'.format(%s, -%s, -%s / 1000, -0.0, -0.0, -%s / 1e6) }}" % ((v,) * 4), {}
    # Zeros that fill the width are grouped too.
    for v in ["1234", "-1234567", "0", "1234567.891", "-0.5", "1e22", "true"]:
        yield "{{ '{:08,}|{:09,}|{:010,}|{:+011_}|{:0=12,}|{:<010,}|{:*=12,}|{:020,.1f}|{:020_e}|{:015,%%}'.format(%s) }}" % ", ".join([v] * 10), {}
    for e in ["'{:_x}|{:010_x}|{:#012_b}|{:#_X}'.format(305419896, 4660, 5, 48879)", "'{:,x}'.format(5)", "'{:,n}'.format(5)", "'{:_n}'.format(1.5)", "'{:_c}'.format(65)", "'{:,s}'.format('a')", "'{:z}'.format(5)", "'{:z}'.format('a')", "'{:#}'.format('a')", "'{:#s}'.format('a')", "'{:z#+}'.format(1.5)", "'{:+z#.1f}'.format(-0.01)",
              "'{:010,}|{:,}|{:#}|{:010}'.format(inf | float, inf | float, inf | float, -(inf | float))"]:
        yield "{{ %s }}" % e, d


def markup_cases():
    """What safe HTML does with what is put into it."""
    d = dict(s="a<b", t="42", l=["<", 1], u="-1.5e3", big=2 ** 70)
    for v in ["'<'", "('<' | safe)", "l", "5", "none", "missing", "('a' | truncate)", "{'<': 1}", "[] | truncate()", "true", "(1, '<')"]:
        yield "{{ (s | safe).replace('a', %s) }}|{{ [(s | safe).replace('<', %s, 1)] }}" % (v, v), d
        yield "{{ (s | safe).replace(%s, 'x') }}" % v, d
        yield "{{ s.replace('a', %s) }}" % v, d
        yield "{{ s | safe | replace('a', %s) }}|{{ [s | e | replace('a', %s)] }}" % (v, v), d
        yield "{{ (s | safe).join(['a', %s]) }}|{{ [(s | safe) ~ %s] }}" % (v, v), d
        for f in ["%s", "%r", "%a", "%.3s", "%d", "%5.1f", "%x", "%c", "%8s|"]:
            yield "{{ ('<%s>' | safe) %% (%s,) }}" % (f, v), d
        yield "{{ ('<%%s>' | safe) %% %s }}|{{ ('<%%s>' | safe) | format(%s) }}" % (v, v), d
        for f in ["{}", "{!r}", "{!s:>9}", "{!a:>9}", "{:>9}", "{:.2}", "{:05}"]:
            yield "{{ ('<%s>' | safe).format(%s) }}" % (f, v), d
    for e in ["(()|e).replace(s, []|truncate())", "(s | safe).replace('b', 1.5, -1)", "(s | safe).replace('b')", "(s | safe).center(7, 1)", "(s | safe).center(7, '<')", "(s | safe).ljust(5, '<' | safe)", "(s | safe).rjust(5, none)", "(s | safe).center(7, missing)", "s.center(7, 1)",
              "('%d|%i|%f|%g' | safe) % (t, u | float, u, t)", "('%d' | safe) % u", "('%d' | safe) % 's'", "('%d' | safe) % big", "('%e' | safe) % big", "('%d' | safe) % 1e22", "('%*d' | safe) % (5, 1)", "('%(a)s %(b)d' | safe) % {'a': '<', 'b': t}", "('%(a)s' | safe) % l", "('%s' | safe) % {'a': '<'}", "('a' | safe) % l", "('a' | safe) % 5"]:
        yield "{{ %s }}" % e, d
    # Methods of Python's own types take no keywords.
    for e in ["s.replace(old='a', new='b')", "s.strip(chars='a')", "s | trim(chars='a')", "s.center(width=9)", "s.find(sub='a')", "s.split(sep='<', maxsplit=1)", "s.startswith(prefix='a')", "{}.get(key='a')", "l.index(value=1)", "s.splitlines(keepends=true)", "s.join(iterable=l)", "s.partition(sep='<')", "s.zfill(width=9)", "s.removeprefix(prefix='a')"]:
        yield "{{ %s }}" % e, d
    for f in ["\0 ", "a\0b%Y", "%Y\0%m", "x%\0Y", "%-\0d"]:
        yield "{{ strftime_now(f) }}|", dict(f=f)
    yield "{% for i in l %}{{ loop.cycle('a', x=1) }}{% endfor %}", d


def identity_cases():
    """Loops with a condition pack their items again; `sameas` where Python's answer is no accident."""
    d = dict(m=[["a", 1], ["b", 2], ["c", 3]], n=[[[1, 2], 3], [[4, 5], 6]], w=["ab", "cd"], d={"a": 1, "b": 2}, l=[1, 2], f=1e22, s="text", e="")
    for t in ["{% for p, q in m if q > 0 %}{{ loop.previtem }}{{ loop.nextitem }}{{ p }}{% endfor %}", "{% for p, q in m %}{{ loop.previtem }}{% endfor %}", "{% for p in m if p %}{{ loop.previtem }}{% endfor %}",
              "{% for (p, q), r in n if r %}{{ loop.nextitem }}{% endfor %}", "{% for p, q in w if p %}{{ loop.previtem }}{% endfor %}", "{% for p, p in m if p %}{{ loop.previtem }}{{ p }}{% endfor %}", "{% for p, in [['x'], ['y']] if p %}{{ loop.previtem }}{% endfor %}",
              "{% for p, q in [m | map('first'), w | map('last')] if true %}{{ p }}{% endfor %}", "{% for p, q in [l | map('string'), w | map('last')] if true %}{{ p }}{{ q }}{{ loop.previtem }}{% endfor %}", "{% for p, q in m if q > 1 %}{{ loop.length }}{{ loop.last }}{{ loop.changed(p) }}{% else %}none{% endfor %}"]:
        yield t, d
    for t in ["{% for p, in in [['x', 2]] %}{{ p }}{% endfor %}", "{% for in in [1] %}a{% endfor %}", "{% for (p,) in [['x']] %}{{ p }}{% endfor %}", "{% set p, = ['x'] %}{{ p }}", "{% set p, in = ['x', 2] %}{{ p }}", "{% set p, %}x{% endset %}{{ p }}"]:
        yield t, d
    for e in ["l is sameas(l.copy())", "l is sameas(l)", "d is sameas(d.copy())", "d is sameas(d)", "s is sameas(s)", "1.5 is sameas(2.5)", "5 is sameas(5)", "-5 is sameas(4 - 9)", "300 is sameas(301)", "5 is sameas(5.0)", "true is sameas(1)", "s is sameas(s | safe)", "range is sameas(range)", "range is sameas(dict)", "none is sameas(none)", "l is sameas([1, 2])", "() is sameas([] | list)", "[(d, f), s] | select('sameas', s) | list"]:
        yield "{{ %s }}" % e, d


def main():
    env = environment()
    with open(sys.argv[1], "w") as out:
        for source, context in cases():
            context = json.loads(json.dumps(context))
            try:
                result = {"output": env.from_string(source).render(**context)}
            except Exception as error:
                # Python's own errors change their words from version to version; Jinja's are ours too.
                jinja_error = isinstance(error, jinja2.exceptions.TemplateError)
                text = re.sub(r" at \d+$", "", str(error)) if jinja_error else ""
                result = {"error": text, "error_type": type(error).__name__}
            if " at 0x" in result.get("output", ""):
                continue  # an address: nothing to compare with
            out.write(json.dumps({"template": source, "context": context, **result}) + "\n")


if __name__ == "__main__":
    main()
