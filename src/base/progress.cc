// The progress bar: drawn on a terminal only.
#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace amphora {
namespace {

constexpr std::chrono::milliseconds kPatience{500};  // shorter work shows no bar
constexpr std::chrono::milliseconds kRedraw{100};
constexpr int kBarCells = 24;

// A bar that cannot be shown is no fault.
void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressBar::ProgressBar(std::string label, bool quiet)
    : label_(std::move(label)), enabled_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) write_to_stderr("\r\033[K");
}

void ProgressBar::update(uint64_t done, uint64_t total) {
  if (!enabled_ || total == 0) return;
  const Clock::time_point now = Clock::now();
  if (now - started_ < kPatience || now - last_drawn_ < kRedraw) return;
  last_drawn_ = now;
  drawn_ = true;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double left = share > 0 ? seconds * (1 - share) / share : 0;
  const int cells = static_cast<int>(share * kBarCells);
  write_to_stderr(fmt::format("\r\033[K{} [{:#<{}}{: <{}}] {:3.0f} %  {:.0f} MB/s  {:.0f} s left", label_, "",
                              cells, "", kBarCells - cells, share * 100,
                              static_cast<double>(done) / seconds / 1e6, left));
}

}  // namespace amphora
