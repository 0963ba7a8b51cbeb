// Keeps resident memory small while a mapped file is read from end to end.
#pragma once

#include "amphora/bytes.h"

namespace amphora {

/// Tells the system that these bytes of a read-only file mapping are not needed for now. Reading them again
/// is always possible. Must not be given memory of any other kind: its contents would be lost.
void release_pages(Bytes mapped);

}  // namespace amphora
