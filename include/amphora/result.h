// The one way in which a function of amphora says "this can fail, and here is why".
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>

namespace amphora {

/// What kind of fault it is. Code that decides (exit status, HTTP status) looks at this and at nothing else.
enum class Fault : uint8_t {
  kTruncated,    ///< the input ends too early
  kCorrupt,      ///< the input contradicts itself or its format
  kRefused,      ///< well-formed, but not accepted: a failed check, a base that does not match
  kUnsupported,  ///< valid, but this program cannot handle it (an architecture, a feature bit)
  kNotFound,     ///< a file or entry that was named is not there
  kIo,           ///< the file system or the network failed
  kUsage,        ///< the caller asked for something that makes no sense
};

/// Why something failed.
struct Error {
  Fault fault = Fault::kCorrupt;
  std::string code;   ///< the format's stable name of the fault (its specification's table), or empty
  std::string place;  ///< section, tensor or JSON path, or empty
  std::optional<uint64_t> offset;  ///< first byte of the faulty field in the file, where there is one
  std::string message;             ///< one sentence for a person: found what, wanted what
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

/// An error without a code or a place of its own.
inline std::unexpected<Error> fail(Fault fault, std::string message) {
  return std::unexpected(Error{fault, {}, {}, std::nullopt, std::move(message)});
}

/// An error that says where it is.
inline std::unexpected<Error> fail_at(Fault fault, std::string code, std::string place,
                                      std::optional<uint64_t> offset, std::string message) {
  return std::unexpected(Error{fault, std::move(code), std::move(place), offset, std::move(message)});
}

/// Exit status of a program that stops because of `fault` (see docs/cli.md).
constexpr int exit_status(Fault fault) {
  switch (fault) {
    case Fault::kUsage: return 2;
    case Fault::kIo:
    case Fault::kNotFound: return 3;
    case Fault::kUnsupported: return 4;
    case Fault::kTruncated:
    case Fault::kCorrupt:
    case Fault::kRefused: return 1;
  }
  return 1;
}

}  // namespace amphora

/// Returns the error of a Result or Status from the enclosing function, if it holds one.
#define AMPHORA_TRY(expression)                                  \
  do {                                                           \
    if (auto amphora_status = (expression); !amphora_status)     \
      return std::unexpected(std::move(amphora_status).error()); \
  } while (false)

/// `AMPHORA_ASSIGN(auto x, f())`: declares x from a Result, or returns its error from the enclosing function.
#define AMPHORA_ASSIGN(declaration, expression) \
  AMPHORA_ASSIGN_IMPL(AMPHORA_JOIN(amphora_result_, __LINE__), declaration, expression)
#define AMPHORA_ASSIGN_IMPL(result, declaration, expression)      \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
#define AMPHORA_JOIN(a, b) AMPHORA_JOIN_IMPL(a, b)
#define AMPHORA_JOIN_IMPL(a, b) a##b
