// A GGUF file as a Package: Hugging Face names, shapes and conventions over ggml's.
#pragma once

#include <filesystem>
#include <memory>

#include "amphora/package.h"
#include "amphora/result.h"
#include "package/open_options.h"

namespace amphora {

/// Opens a GGUF file of an architecture that gguf_architectures.cc lists; another one is refused by name.
/// What comes out is what the Hugging Face directory would give: canonical names, rows in Hugging Face's
/// order, norms in the model's own style, the tokenizer as a tokenizer.json.
Result<std::shared_ptr<const Package>> open_gguf_package(const std::filesystem::path& path,
                                                         const package::OpenOptions& options = {});

}  // namespace amphora
