// Logging set-up over spdlog.
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace amphora {

void set_up_logging(LogLevel level, bool colour) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colour ? spdlog::color_mode::automatic
                                                                           : spdlog::color_mode::never);
  auto logger = std::make_shared<spdlog::logger>("amphora", std::move(sink));
  logger->set_pattern("%^%l%$: %v");
  switch (level) {
    case LogLevel::kQuiet: logger->set_level(spdlog::level::err); break;
    case LogLevel::kNormal: logger->set_level(spdlog::level::warn); break;
    case LogLevel::kVerbose: logger->set_level(spdlog::level::debug); break;
  }
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace amphora
