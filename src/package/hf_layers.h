// Types of layers in a Hugging Face configuration, and the window of those that have one.
#pragma once

#include "amphora/package.h"
#include "package/hf_families.h"
#include "package/object_reader.h"

namespace amphora::package {

/// Reads layer_types, or what stands for them by the family's rule, and sliding_window into `spec`, whose
/// num_layers is set. The window stays absent where no layer has one. Types that the family does not have are
/// kUnsupported.
void read_layers(ObjectReader& in, const Family& family, ModelSpec& spec);

}  // namespace amphora::package
