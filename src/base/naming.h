// Several files that appear together.
#pragma once

#include <mutex>

namespace amphora {

/// Held while the files of a set get their names. Who ends the program at once, as an interrupt does, takes
/// it first: a set is then there as a whole or not at all.
inline std::mutex& naming_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace amphora
