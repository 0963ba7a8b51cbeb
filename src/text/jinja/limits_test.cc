// Templates that want too much (E8 and more): each ends soon, with an error that names the limit.
// tests/real/test_hostile_templates.py measures time and memory of the release program.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <chrono>
#include <string>

#include "amphora/json.h"
#include "text/chat.h"
#include "text/jinja/limits.h"

namespace amphora::text {
namespace {

std::string repeated(std::string_view piece, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i) result += piece;
  return result;
}

Result<std::string> render(const std::string& source) {
  AMPHORA_ASSIGN(const auto chat_template, ChatTemplate::parse(source));
  return chat_template->render_variables(json::Value::object(), 0);
}

struct HostileTemplate {
  const char* name;
  std::string source;
  const char* limit;  ///< words of the message
};

std::vector<HostileTemplate> hostile_templates() {
  const std::string many = "{% for i in range(100000) %}", twice = many + many, end = "{% endfor %}";
  const std::string big = "{% set s = 'abcdefgh' * 1000000 %}";
  return {
      {"macro that calls itself", "{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}", "recursion levels"},
      {"macros that call each other",
       "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
       "recursion levels"},
      {"macro whose default calls it", "{% macro f(a=f()) %}{% endmacro %}{{ f() }}", "recursion levels"},
      {"range of a billion", "{% for i in range(10**9) %}{% endfor %}", "Range too big"},
      {"nested parentheses", "{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}",
       "nesting levels"},
      {"nested lists", "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}", "nesting levels"},
      {"nested minus signs", "{{ " + repeated("-", 5000) + "1 }}", "nesting levels"},
      {"nested nots", "{{ " + repeated("not ", 5000) + "1 }}", "nesting levels"},
      {"nested subscripts", "{{ a" + repeated("[a", 5000) + repeated("]", 5000) + " }}", "nesting levels"},
      {"nested conditionals", "{{ " + repeated("1 if 1 else ", 5000) + "1 }}", "nesting levels"},
      {"chain of additions", "{{ 1" + repeated(" + 1", 5000) + " }}", "nesting levels"},
      {"chain of filters", "{{ 1" + repeated(" | string", 5000) + " }}", "nesting levels"},
      {"chain of attributes", "{{ a" + repeated(".b", 5000) + " }}", "nesting levels"},
      {"chain of calls", "{{ a" + repeated("()", 5000) + " }}", "nesting levels"},
      {"nested ifs", repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000), "nesting levels"},
      {"nested fors", repeated("{% for i in [1] %}", 5000) + repeated(end, 5000), "nesting levels"},
      {"nested targets", "{% for " + repeated("(", 5000) + "a" + repeated(")", 5000) + " in b %}" + end,
       "nesting levels"},
      {"doubled string",
       "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
       "text bytes"},
      {"doubled sum",
       "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
       "text bytes"},
      {"multiplied string", "{{ 'x' * 10**12 }}", "text bytes"},
      {"multiplied list", "{{ [1] * 10**12 }}", "value memory"},
      {"doubled list",
       "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
       "value memory"},
      {"wide format", "{{ '%1000000000000s' % 'a' }}", "text bytes"},
      {"wide braces", "{{ '{:1000000000000}'.format('a') }}", "text bytes"},
      {"precise float", "{{ '%.1000000f' % 1.5 }}", "precision"},
      {"wide center", "{{ 'a'.center(10**12) }}", "text bytes"},
      {"wide indent", "{{ 'a\nb' | indent(10**12) }}", "text bytes"},
      {"replacement that grows", "{% set s = 'a' * 10000 %}{{ s.replace('a', s) }}", "text bytes"},
      {"join of copies", "{% set s = 'a' * 1000000 %}{{ ([s] * 1000) | join(s) }}", "text bytes"},
      {"endless loop", twice + twice + "{% set x = 1 %}" + end + end + end + end, "steps"},
      {"endless output", twice + "0123456789012345678901234567890123456789" + end + end, "text bytes"},
      {"output of much", big + many + "{{ s }}" + end, "text bytes"},
      {"work on a large text", big + many + "{% set x = s.replace('b', 'c') %}" + end, "steps"},
      {"search in a large text", big + many + "{% set x = 'z' in s %}" + end, "steps"},
      {"case of a large text", big + many + "{% set x = s | upper | length %}" + end, "value memory"},
      {"case of a smaller text",
       "{% set s = 'abcdefgh' * 100000 %}" + many + "{% set x = s | upper | length %}" + end, "steps"},
      {"slices of a large text", big + many + "{% set x = s[::-1] %}" + end, "steps"},
      {"comparisons of large texts",
       big + "{% set t = 'abcdefgh' * 1000000 %}" + many + "{% set x = s == t %}" + end, "steps"},
      {"look-ups of a large text", big + many + "{% set x = s in {} %}" + end, "steps"},
      {"items named by a large text", big + many + "{% set x = {}[s] %}" + end, "steps"},
      {"dicts with a large key", big + many + "{% set x = {s: 1} %}" + end, "steps"},
      {"numbers out of a large text", big + many + "{% set x = s | float %}" + end, "steps"},
      {"grouped zeros", many + "{% set x = '{:08000000,}'.format(1) %}" + end, "steps"},
      {"characters of a large text", big + "{{ s | list | length }}", "value memory"},
      {"words of a large text", "{% set s = 'a ' * 2000000 %}{{ s.split() | length }}", "parts of a text"},
      {"lines of a large text", "{% set s = '\\n' * 2000000 %}{{ s.splitlines() | length }}",
       "parts of a text"},
      {"indented lines of a large text", "{{ ('\\n' * 2000000) | indent }}", "parts of a text"},
      {"list that holds itself often",
       "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ "
       "ns.l }}",
       "text bytes"},
      {"comparison of such lists",
       "{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}{% set "
       "ns.m = [ns.m, "
       "ns.m] %}{% endfor %}{{ ns.l == ns.m }}",
       "steps"},
      {"key of such tuples",
       "{% set ns = namespace(t=(1,)) %}{% for i in range(100) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ "
       "ns.t in {} }}",
       "steps"},
      {"deep list", "{% set ns = namespace(l=[1]) %}" + many + "{% set ns.l = [ns.l] %}" + end,
       "value depth"},
      {"deep loops",
       "{% set ns = namespace(l=1) %}" + many + "{% for x in [ns.l] %}{% set ns.l = loop %}" + end + end,
       "value depth"},
      {"namespaces within each other",
       "{% set top = namespace(l=1) %}{% for i in range(2000) %}{% set top.l = namespace(a=top.l) %}" + end +
           "{{ top }}",
       "levels of values"},
      {"many namespaces", twice + "{% set x = namespace(a=i) %}" + end + end, "value memory"},
      {"many macros", twice + "{% macro m() %}{% endmacro %}" + end + end, "value memory"},
      {"large captures in recursion",
       "{% macro m(n) %}{{ 'x' * 7000000 }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}", "value memory"},
      {"large dict", "{% set ns = namespace(l=[]) %}{{ dict([(1, 2)] * 400000) }}", "value memory"},
      {"recursive loop", "{% for x in [1] recursive %}{{ loop([x]) }}{% endfor %}", "recursion levels"},
      {"long source", repeated(" ", jinja::kMaxSourceBytes + 1), "template bytes"},
  };
}

TEST(JinjaLimits, EndHostileTemplatesSoonAndNameThemselves) {
  for (const HostileTemplate& hostile : hostile_templates()) {
    SCOPED_TRACE(hostile.name);
    const auto start = std::chrono::steady_clock::now();
    const auto output = render(hostile.source);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, "TemplateLimit") << output.error().message;
    EXPECT_NE(output.error().message.find(hostile.limit), std::string::npos) << output.error().message;
    // A second is the promise of a release build on an idle machine; sanitizers and neighbours get some room.
    EXPECT_LT(seconds.count(), 30.0);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    RecordProperty(hostile.name,
                   std::to_string(seconds.count()) + " s, peak KiB " + std::to_string(usage.ru_maxrss));
  }
}

// Objects that lead back to themselves must not leak (the sanitizer watches).
TEST(JinjaLimits, CirclesEndWithTheRendering) {
  const auto output = render(
      "{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.l = [ns] %}{% macro m() %}{{ n }}{% "
      "endmacro %}"
      "{% set ns.m = m %}{% for x in [1] recursive %}{% set ns.loop = loop %}{{ loop.changed(loop) }}{% "
      "endfor %}"
      "{% set kept = ns.loop %}{{ kept.changed(kept) }}{{ ns }}");
  ASSERT_TRUE(output) << output.error().message;
}

TEST(JinjaLimits, LeaveRoomForHonestTemplates) {
  const auto output =
      render("{% for i in range(1000) %}{% for j in range(100) %}{{ loop.index }}{% endfor %}{% endfor %}");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(output->size(), 1000u * 192u);
}

}  // namespace
}  // namespace amphora::text
