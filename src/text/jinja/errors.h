// The errors of templates. Codes: TemplateSyntax, TemplateError (while rendering), TemplateRaised
// (raise_exception), TemplateLimit.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "amphora/result.h"
#include "text/jinja/position.h"

namespace amphora::text::jinja {

inline std::unexpected<Error> coded_error(Fault fault, std::string code, std::string message) {
  return fail_at(fault, std::move(code), {}, std::nullopt, std::move(message));
}

/// What Python would raise while rendering: TypeError, UndefinedError, ZeroDivisionError …
inline std::unexpected<Error> render_error(std::string message) {
  return coded_error(Fault::kCorrupt, "TemplateError", std::move(message));
}

/// Valid in jinja2, but not implemented here.
inline std::unexpected<Error> unsupported_error(std::string message) {
  return coded_error(Fault::kUnsupported, "TemplateError", std::move(message));
}

inline std::unexpected<Error> limit_error(std::string message) {
  return coded_error(Fault::kRefused, "TemplateLimit", std::move(message));
}

/// The template's own raise_exception: its text is for the user and stays as it is.
inline std::unexpected<Error> raised_error(std::string message) {
  return coded_error(Fault::kRefused, "TemplateRaised", std::move(message));
}

inline std::string place_of(Position at) {
  return "line " + std::to_string(at.line) + ", column " + std::to_string(at.column);
}

/// Says where: the innermost node that sees an error first calls this. Text from raise_exception is left
/// alone.
inline Error located(Error error, Position at) {
  if (!error.place.empty()) return error;
  error.place = place_of(at);
  if (error.code != "TemplateRaised")
    error.message = "template error at " + error.place + ": " + error.message;
  return error;
}

inline std::unexpected<Error> syntax_error(Position at, std::string message) {
  return std::unexpected(
      located(Error{Fault::kCorrupt, "TemplateSyntax", {}, std::nullopt, std::move(message)}, at));
}

}  // namespace amphora::text::jinja
