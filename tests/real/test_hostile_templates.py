"""Templates that want too much (E8), through `amphora render` of the release program: each is refused within a second of
processor time and 64 MiB beside what a harmless template takes, and the message names the limit."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import harness  # noqa: E402

HOSTILE = {
    "macro that calls itself": ("{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}", "recursion levels"),
    "range of a billion": ("{% for i in range(10**9) %}{% endfor %}", "Range too big"),
    "nested parentheses": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nesting levels"),
    "nested ifs": ("{% if 1 %}" * 5000 + "{% endif %}" * 5000, "nesting levels"),
    "doubled string": ("{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}", "text bytes"),
    "doubled content": ("{% set ns = namespace(s='x' ~ messages[0].content) %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}", "exceeded"),
    "doubled list": ("{% set ns = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = ns.l + ns.l %}{% endfor %}", "value memory"),
    "endless loop": ("{% for i in range(100000) %}{% for j in range(100000) %}{% set x = 1 %}{% endfor %}{% endfor %}", "steps"),
}
MESSAGES = b'[{"role": "user", "content": "hi"}]'


class HostileTemplates(harness.CommandLineTest):
    def measured(self, template):
        """Status, stderr, seconds of processor time and peak KiB of one rendering."""
        path = self.folder / "hostile.jinja"
        path.write_text(template)
        read, write = os.pipe()
        os.write(write, MESSAGES)
        os.close(write)
        errors = self.folder / "errors"
        actions = [(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                   (os.POSIX_SPAWN_OPEN, 2, errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
        child = os.posix_spawn(harness.PROGRAM, [harness.PROGRAM, "render", str(path), "-"], os.environ, file_actions=actions)
        os.close(read)
        _, status, usage = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(status), errors.read_text(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss

    def test_each_is_refused_soon_and_within_64_mib(self):
        status, errors, _, harmless = self.measured("{{ messages[0].content }}")
        self.assertEqual(status, 0, errors)
        for name, (template, limit) in HOSTILE.items():
            with self.subTest(name):
                status, errors, seconds, peak = self.measured(template)
                print(f"{name}: {seconds:.3f} s, {(peak - harmless) / 1024:.1f} MiB beside the harmless one", file=sys.stderr)
                self.assertEqual(status, 1, errors)
                self.assertIn(limit, errors)
                self.assertLessEqual(seconds, 1.0)
                self.assertLessEqual(peak - harmless, 64 * 1024)


if __name__ == "__main__":
    harness.main()
