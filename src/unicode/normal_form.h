// Unicode normal forms, as the library behind Hugging Face `tokenizers` computes them.
#pragma once

#include <string>
#include <string_view>

namespace amphora::unicode {

enum class NormalForm { kC, kD, kKc, kKd };

/// The normal form of a well-formed text, in linear time up to sorting each run of combining marks.
///
/// The tables are those of utf8proc, less what came after Unicode 9.0: the reference (the Rust crate
/// unicode-normalization-alignments) still has that version, so younger characters have no decomposition and
/// combining class 0 in both.
std::string normalize(std::string_view text, NormalForm form);

}  // namespace amphora::unicode
