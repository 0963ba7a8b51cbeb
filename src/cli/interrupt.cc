// A thread that waits for SIGINT and SIGTERM, so that what they cause runs outside signal handlers.
#include "cli/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <string_view>
#include <thread>

#include "amphora/result.h"
#include "base/file.h"
#include "base/naming.h"

namespace amphora::cli {
namespace {

std::mutex scope_mutex;
std::stop_source* scope_source = nullptr;  // of the InterruptScope that is alive

void wait_for_signals(sigset_t signals) {
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    {
      const std::lock_guard lock(scope_mutex);
      if (scope_source != nullptr && !scope_source->stop_requested()) {
        scope_source->request_stop();
        continue;
      }
    }
    const std::lock_guard naming(naming_mutex());
    remove_unfinished_files();
    _exit(kInterruptedStatus);
  }
}

// A mapped file that someone has cut while we read it: nothing can go on, but it can be said.
void report_lost_mapping(int) {
  constexpr std::string_view kMessage = "amphora: a file became shorter while it was being read\n";
  const ssize_t ignored = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  static_cast<void>(ignored);
  remove_unfinished_files();
  _exit(exit_status(Fault::kIo));
}

}  // namespace

void watch_for_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(wait_for_signals, signals).detach();
  std::signal(SIGBUS, report_lost_mapping);
  std::signal(SIGXFSZ, SIG_IGN);  // a write past the file size limit then fails with EFBIG, like any other
}

InterruptScope::InterruptScope() {
  const std::lock_guard lock(scope_mutex);
  scope_source = &source_;
}

InterruptScope::~InterruptScope() {
  const std::lock_guard lock(scope_mutex);
  scope_source = nullptr;
}

}  // namespace amphora::cli
