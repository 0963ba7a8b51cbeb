// A `.cmf` file as a Package.
#pragma once

#include <filesystem>
#include <memory>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora {

/// Opens a file, or the whole set if it is a shard (tensors in shard order, header and sections those of
/// shard 1). Masks and skills are named in `notes`; a skill file is `not_runnable`.
Result<std::shared_ptr<const Package>> open_cmf_package(const std::filesystem::path& path);

}  // namespace amphora
