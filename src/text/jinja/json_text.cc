// json.dumps(): see python_text.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

void append_json_string(TextBuilder& out, std::string_view text, bool ensure_ascii) {
  out.append("\"");
  size_t written = 0;
  const auto replace = [&](size_t start, size_t end, std::string_view escape) {
    out.append(text.substr(written, start - written));
    out.append(escape);
    written = end;
  };
  for (size_t offset = 0; offset < text.size() && out.ok();) {
    const size_t start = offset;
    const char32_t c = next_code_point(text, offset);
    switch (c) {
      case U'"': replace(start, offset, "\\\""); break;
      case U'\\': replace(start, offset, "\\\\"); break;
      case U'\n': replace(start, offset, "\\n"); break;
      case U'\r': replace(start, offset, "\\r"); break;
      case U'\t': replace(start, offset, "\\t"); break;
      case U'\f': replace(start, offset, "\\f"); break;
      case U'\b': replace(start, offset, "\\b"); break;
      default:
        // Python escapes DEL only when it keeps to ASCII, where its pattern is "not space to tilde".
        if (c < 0x20 || (ensure_ascii && c >= 0x7F && c < 0x10000)) {
          replace(start, offset, fmt::format("\\u{:04x}", static_cast<uint32_t>(c)));
        } else if (ensure_ascii && c >= 0x10000) {
          const auto above = static_cast<uint32_t>(c) - 0x10000;
          replace(start, offset,
                  fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF)));
        }
    }
  }
  out.append(text.substr(written));
  out.append("\"");
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return repr_of_float(value);
}

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), out_(&budget), style_(style) {}

  Result<std::string> write(const Value& value) {
    AMPHORA_TRY(append(value, 0));
    AMPHORA_TRY(budget_.status());
    return out_.take();
  }

 private:
  Status append(const Value& value, uint32_t level) {
    budget_.spend(1);
    AMPHORA_TRY(budget_.status());
    switch (value.kind()) {
      case Kind::kNone: out_.append("null"); return {};
      case Kind::kBool: out_.append(value.as_bool() ? "true" : "false"); return {};
      case Kind::kInteger: out_.append(std::to_string(value.as_integer())); return {};
      case Kind::kBigInteger: out_.append(value.as<BigIntegerObject>().digits); return {};
      case Kind::kFloat: out_.append(json_float(value.as_float())); return {};
      case Kind::kString: append_json_string(out_, value.text(), style_.ensure_ascii); return {};
      case Kind::kList:
      case Kind::kTuple: return append_list(value.items(), level);
      case Kind::kDict: return append_dict(value.dict(), level);
      default: return render_error("Object of type " + type_name(value) + " is not JSON serializable");
    }
  }

  void append_line(uint32_t level) {
    if (!style_.indent) return;
    out_.append('\n');
    out_.append_repeated(*style_.indent, level);
  }

  Status append_list(const std::vector<Value>& items, uint32_t level) {
    if (items.empty()) {
      out_.append("[]");
      return {};
    }
    out_.append('[');
    bool first = true;
    for (const Value& item : items) {
      if (!first) out_.append(style_.item_separator);
      first = false;
      append_line(level + 1);
      AMPHORA_TRY(append(item, level + 1));
    }
    append_line(level);
    out_.append(']');
    return {};
  }

  Status append_dict(const DictObject& dict, uint32_t level) {
    if (dict.entries.empty()) {
      out_.append("{}");
      return {};
    }
    std::vector<const DictObject::Entry*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) AMPHORA_TRY(sort_by_key(entries));
    out_.append('{');
    bool first = true;
    for (const auto* entry : entries) {
      if (!first) out_.append(style_.item_separator);
      first = false;
      append_line(level + 1);
      AMPHORA_TRY(append_key(entry->first));
      out_.append(style_.key_separator);
      AMPHORA_TRY(append(entry->second, level + 1));
    }
    append_line(level);
    out_.append('}');
    return {};
  }

  Status sort_by_key(std::vector<const DictObject::Entry*>& entries) {
    std::vector<Value> keys;
    for (const auto* entry : entries) keys.push_back(entry->first);
    AMPHORA_ASSIGN(const std::vector<size_t> order, sorted_order(budget_, keys, false));
    std::vector<const DictObject::Entry*> sorted;
    for (const size_t index : order) sorted.push_back(entries[index]);
    entries = std::move(sorted);
    return {};
  }

  Status append_key(const Value& key) {
    switch (key.kind()) {
      case Kind::kString: append_json_string(out_, key.text(), style_.ensure_ascii); return {};
      case Kind::kNone: out_.append("\"null\""); return {};
      case Kind::kBool: out_.append(key.as_bool() ? "\"true\"" : "\"false\""); return {};
      case Kind::kInteger:
      case Kind::kBigInteger:
      case Kind::kFloat:
        out_.append('"');
        AMPHORA_TRY(append(key, 0));
        out_.append('"');
        return {};
      default: return render_error("keys must be str, int, float, bool or None, not " + type_name(key));
    }
  }

  Budget& budget_;
  TextBuilder out_;
  const JsonStyle& style_;
};

}  // namespace

Result<std::string> to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  return JsonWriter(budget, style).write(value);
}

}  // namespace amphora::text::jinja
