// Keeps resident memory small while a mapped file is read from end to end.
#pragma once

#include "base/page_advice.h"

namespace amphora::package {

using amphora::release_pages;

}  // namespace amphora::package
