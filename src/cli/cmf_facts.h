// What `info` says about a CMF file beyond what every model has: sections, masks, index, skills, shard,
// signature.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"
#include "formats/cmf/cmf_file.h"

namespace amphora::cli {

/// Opens the file if it begins as CMF files do; empty if it does not, or is no regular file.
Result<std::optional<cmf::CmfFile>> open_if_cmf(const std::string& path);

/// Adds the facts to the document of `info`.
void add_cmf_facts(json::Value& document, const cmf::CmfFile& file, const std::string& path);

/// What a person should know about the file, as strings.
std::vector<json::Value> notes_on(const cmf::CmfFile& file);

}  // namespace amphora::cli
