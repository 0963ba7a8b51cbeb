// JSON documents as values of a template: see from_json.h.
#include "text/jinja/from_json.h"

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"

namespace amphora::text::jinja {
namespace {

Result<Value> string_from(const std::string& text, bool quoted) {
  if (!is_well_formed_utf8(text))
    return coded_error(Fault::kCorrupt, "TemplateInput", "template variable is not well-formed UTF-8");
  return quoted ? make_quoted_string(nullptr, text) : make_string(nullptr, text);
}

Value number_from(const json::Value& value) {
  if (const auto integer = value.as_integer()) return Value::integer(*integer);
  if (value.text().find_first_of(".eE") != std::string::npos) return Value::floating(value.as_double());
  return Value::with_object(Kind::kBigInteger, std::make_shared<BigIntegerObject>(nullptr, value.text()));
}

Result<Value> convert(const json::Value& value, bool quoted, uint32_t depth) {
  if (depth > kMaxValueDepth)
    return limit_error("limit of value depth exceeded (" + std::to_string(kMaxValueDepth) + ")");
  switch (value.kind()) {
    case json::Kind::kNull: return Value();
    case json::Kind::kBool: return Value::boolean(value.as_bool());
    case json::Kind::kNumber: return number_from(value);
    case json::Kind::kString: return string_from(value.text(), quoted);
    case json::Kind::kArray: {
      std::vector<Value> items;
      items.reserve(value.items().size());
      for (const json::Value& item : value.items()) {
        AMPHORA_ASSIGN(Value converted, convert(item, quoted, depth + 1));
        items.push_back(std::move(converted));
      }
      return make_list(nullptr, std::move(items));
    }
    case json::Kind::kObject: {
      std::vector<DictObject::Entry> entries;
      entries.reserve(value.members().size());
      for (const json::Member& member : value.members()) {
        AMPHORA_ASSIGN(Value key, string_from(member.key, quoted));
        AMPHORA_ASSIGN(Value converted, convert(member.value, quoted, depth + 1));
        entries.emplace_back(std::move(key), std::move(converted));
      }
      return make_dict(nullptr, std::move(entries));
    }
  }
  return Value();
}

}  // namespace

Result<Value> from_json(const json::Value& value, bool quoted) { return convert(value, quoted, 1); }

}  // namespace amphora::text::jinja
