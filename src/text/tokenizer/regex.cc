// A compiled regular expression of a tokenizer, over PCRE2.
#include "text/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "text/tokenizer/oniguruma.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

template <auto kFree>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Deleter<pcre2_jit_stack_free>>;

// Steps of backtracking allowed for one match, beside a share for each byte: `\s+(?!\S)` may give back all it
// took.
constexpr uint64_t kMatchStepsBase = 1'000'000;
constexpr uint64_t kMatchStepsPerByte = 64;
constexpr uint32_t kDepthLimit = 100'000;     // nested backtracking points, for the interpreter
constexpr size_t kJitStackBytes = 512 << 10;  // on the heap: nothing grows on the machine's stack

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>> program;
  std::string source;
  bool jit = false;
};

Result<Regex> Regex::compile(std::string_view pattern) {
  AMPHORA_ASSIGN(const std::string translated, translate_oniguruma(pattern));
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);  // '.', '^' and '$' know no other line end in Oniguruma
  constexpr uint32_t kOptions =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->source = pattern;
  code->program.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                    kOptions, &error, &offset, context.get()));
  if (!code->program)
    return fail(Fault::kUnsupported, fmt::format("tokenizer: regular expression '{}' cannot be used: {}",
                                                 shown_pattern(pattern), message_of(error)));
  // Without JIT (a build or a kernel that forbids it) the interpreter does the same more slowly.
  code->jit = pcre2_jit_compile(code->program.get(), PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(code));
}

Status Regex::find_all(std::string_view text, std::vector<Span>& matches) const {
  matches.clear();
  const pcre2_code* program = code_->program.get();
  const MatchData data(pcre2_match_data_create(1, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  const uint64_t steps = kMatchStepsBase + kMatchStepsPerByte * text.size();
  pcre2_set_match_limit(context.get(), static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
  pcre2_set_depth_limit(context.get(), kDepthLimit);
  JitStack stack;
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());

  size_t offset = 0;
  size_t last_end = std::string_view::npos;
  while (offset <= text.size()) {
    int result = code_->jit ? pcre2_jit_match(program, subject, text.size(), offset, PCRE2_NO_UTF_CHECK,
                                              data.get(), context.get())
                            : pcre2_match(program, subject, text.size(), offset, PCRE2_NO_UTF_CHECK,
                                          data.get(), context.get());
    if (result == PCRE2_ERROR_JIT_STACKLIMIT && !stack) {
      stack.reset(pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr));
      pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
      continue;
    }
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0)
      return fail(Fault::kRefused, fmt::format("tokenizer: regular expression '{}' gave up on this text: {}",
                                               shown_pattern(code_->source), message_of(result)));
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
    const Span match{bounds[0], bounds[1]};
    if (match.empty() && match.end == last_end) {
      offset = match.end < text.size() ? match.end + unicode::sequence_bytes(text[match.end]) : match.end + 1;
      continue;
    }
    matches.push_back(match);
    offset = last_end = match.end;
  }
  return {};
}

}  // namespace amphora::text
