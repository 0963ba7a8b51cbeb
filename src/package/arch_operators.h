// The records of `arch` that describe operators beside plain attention and FFN: moe, mla, mtp, linear_core
// (docs/formats/cmf.md §12).
#pragma once

#include <string>

#include "amphora/json.h"
#include "amphora/package.h"
#include "amphora/result.h"
#include "package/object_reader.h"

namespace amphora::package {

/// Reads the records into their fields; faults within a record are returned, those of a wrong type stay in
/// `arch`.
Status decode_operators(ObjectReader& arch, ModelSpec& spec);
/// The record `mtp` alone.
Result<MtpSpec> decode_mtp(const json::Value& object, std::string path);
/// Appends the records that `spec` has.
void encode_operators(const ModelSpec& spec, json::Value& arch);

}  // namespace amphora::package
