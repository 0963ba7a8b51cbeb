// Logging set-up: messages for people on stderr, through spdlog's default logger.
#pragma once

namespace amphora {

enum class LogLevel { kQuiet, kNormal, kVerbose };

/// Sets the default logger: stderr, no time stamps, warnings and up (kQuiet: errors only; kVerbose:
/// everything). Colour only on a terminal and only if `colour`.
void set_up_logging(LogLevel level, bool colour);

}  // namespace amphora
