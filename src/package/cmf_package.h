// A `.cmf` file as a Package.
#pragma once

#include <filesystem>
#include <memory>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora {

/// Opens one file. A part of a sharded set is kUnsupported; task masks and skills are named in `notes` and
/// `uncarried`; a skill file is `not_runnable`.
Result<std::shared_ptr<const Package>> open_cmf_package(const std::filesystem::path& path);

}  // namespace amphora
