// A Hugging Face directory (safetensors, in one file or in shards with an index) as a Package.
#pragma once

#include <filesystem>
#include <memory>

#include "amphora/package.h"
#include "amphora/result.h"
#include "package/open_options.h"

namespace amphora {

/// Opens the directory of a model: config.json, the weights that its index names (or model.safetensors),
/// tokenizer.json (or what tokenizer_source.h makes one from), chat template and generation_config.json. All
/// of it is checked before anything is handed out; missing shards are listed before any shard is opened.
Result<std::shared_ptr<const Package>> open_hugging_face_package(const std::filesystem::path& directory,
                                                                 const package::OpenOptions& options = {});

}  // namespace amphora
