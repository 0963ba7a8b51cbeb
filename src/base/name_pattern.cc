// Name patterns over PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/name_pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>

namespace amphora {
namespace {

// Names are short: what needs more steps than this is a hostile expression.
constexpr uint32_t kMatchLimit = 1000000;
constexpr uint32_t kDepthLimit = 1000;

}  // namespace

struct NamePattern::Code {
  Code(pcre2_code* a_code, pcre2_match_context* a_context) : code(a_code), context(a_context) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
  pcre2_code* code;
  pcre2_match_context* context;
};

Result<NamePattern> NamePattern::compile(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 256> reason{};
    pcre2_get_error_message(error, reason.data(), reason.size());
    return fail(Fault::kUsage, fmt::format("'{}' is not a regular expression: {} at character {}", pattern,
                                           reinterpret_cast<const char*>(reason.data()), offset));
  }
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(context, kMatchLimit);
  pcre2_set_depth_limit(context, kDepthLimit);
  return NamePattern(std::make_shared<const Code>(code, context));
}

bool NamePattern::found_in(std::string_view name) const {
  pcre2_match_data* data = pcre2_match_data_create_from_pattern(code_->code, nullptr);
  const int matches = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, 0,
                                  data, code_->context);
  pcre2_match_data_free(data);
  return matches >= 0;
}

}  // namespace amphora
