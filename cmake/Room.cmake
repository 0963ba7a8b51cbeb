# A room is a folder, a static library, a test program and the list of rooms that it may use.
#
# amphora_room(<room> [USES <room>...] [LIBRARIES <target>...] [SEPARATE])
#   compiles src/<room>/*.cc into the library amphora_<room>. `*_test.cc` become the program <room>_test (registered
#   with ctest test by test), `*_bench.cc` the program <room>_bench, `*_fuzz.cc` one libFuzzer program each. Files are
#   found by themselves. SEPARATE: its files are never compiled together (AMPHORA_UNITY), since they define the same
#   names on purpose or belong to different processors.
#
# A room sees only its own headers and those of the rooms in USES: each room's include path is a folder of its own in
# the build tree that holds one link, so an #include against the arrows does not compile.

include(GoogleTest)

get_filename_component(AMPHORA_SOURCE_DIR ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)  # tests/cross is a project of its own

add_library(amphora_common INTERFACE)
target_compile_options(amphora_common INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Werror -ffp-contract=off -fno-math-errno -fno-trapping-math)
target_include_directories(amphora_common INTERFACE ${AMPHORA_SOURCE_DIR}/include)
target_compile_definitions(amphora_common INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns about std::variant and std::string moves inside its own headers.
  target_compile_options(amphora_common INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
  if(AMPHORA_UNITY)  # it takes every file of a batch for a header
    target_compile_options(amphora_common INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's stable_sort calls a function that libstdc++ itself deprecates.
  target_compile_options(amphora_common INTERFACE -Wno-deprecated-declarations)
endif()
if(AMPHORA_FUZZ)
  target_compile_options(amphora_common INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The tests' own code goes without UBSan and without optimisation, and nothing has more debug information than a stack
# trace needs: so a test file takes a third of the time to compile, and tests are half of all code.
add_library(amphora_options INTERFACE)
add_library(amphora_test_options INTERFACE)
target_link_libraries(amphora_options INTERFACE amphora_common)
target_link_libraries(amphora_test_options INTERFACE amphora_common)
if(AMPHORA_SANITIZE)
  set(address_sanitizer -fsanitize=address -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_compile_options(amphora_options INTERFACE ${address_sanitizer} -fsanitize=undefined -O1)
  target_compile_options(amphora_test_options INTERFACE ${address_sanitizer} -O0)
  target_link_options(amphora_common INTERFACE -fsanitize=address,undefined)
endif()

# Compiles the files of a target in batches.
function(amphora_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${AMPHORA_UNITY} UNITY_BUILD_BATCH_SIZE 10)
endfunction()

function(amphora_room room)
  cmake_parse_arguments(ARG "SEPARATE" "" "USES;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" target ${room})
  set(folder ${AMPHORA_SOURCE_DIR}/src/${room})
  set(link_root ${CMAKE_BINARY_DIR}/rooms/${target})
  get_filename_component(link_parent ${link_root}/${room} DIRECTORY)
  file(MAKE_DIRECTORY ${link_parent})
  file(CREATE_LINK ${folder} ${link_root}/${room} SYMBOLIC)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(FILTER sources EXCLUDE REGEX "/avx[^/]*\\.cc$")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(FILTER sources EXCLUDE REGEX "/neon[^/]*\\.cc$")
  endif()
  set(library_sources ${sources})
  list(FILTER library_sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  if(NOT library_sources)
    return()
  endif()
  add_library(amphora_${target} STATIC ${library_sources})
  if(NOT ARG_SEPARATE)
    amphora_compile_together(amphora_${target})
  endif()
  target_include_directories(amphora_${target} PUBLIC ${link_root})
  target_link_libraries(amphora_${target} PRIVATE amphora_options)
  target_link_libraries(amphora_${target} PUBLIC ${ARG_LIBRARIES})
  set(uses "")
  foreach(used IN LISTS ARG_USES)
    string(REPLACE "/" "_" used_target ${used})
    list(APPEND uses amphora_${used_target})
  endforeach()
  target_link_libraries(amphora_${target} PRIVATE ${uses})

  set(test_sources ${sources})
  list(FILTER test_sources INCLUDE REGEX "_test\\.cc$")
  if(test_sources)
    add_executable(${target}_test ${test_sources})
    if(NOT ARG_SEPARATE)
      amphora_compile_together(${target}_test)
    endif()
    target_link_libraries(${target}_test PRIVATE amphora_test_options amphora_${target} ${uses} GTest::gtest
                                                 GTest::gmock GTest::gtest_main)
    target_compile_definitions(${target}_test PRIVATE AMPHORA_TEST_DATA="${AMPHORA_SOURCE_DIR}/tests/data")
    gtest_discover_tests(${target}_test TEST_PREFIX ${target}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  endif()

  if(AMPHORA_BENCH)
    set(bench_sources ${sources})
    list(FILTER bench_sources INCLUDE REGEX "_bench\\.cc$")
    if(bench_sources)
      add_executable(${target}_bench ${bench_sources})
      target_link_libraries(${target}_bench PRIVATE amphora_options amphora_${target} ${uses} benchmark::benchmark
                                                    benchmark::benchmark_main)
    endif()
  endif()

  if(AMPHORA_FUZZ)
    set(fuzz_sources ${sources})
    list(FILTER fuzz_sources INCLUDE REGEX "_fuzz\\.cc$")
    foreach(fuzz_source IN LISTS fuzz_sources)
      get_filename_component(fuzz_name ${fuzz_source} NAME_WE)
      add_executable(${fuzz_name} ${fuzz_source})
      target_link_libraries(${fuzz_name} PRIVATE amphora_options amphora_${target} ${uses})
      target_compile_definitions(${fuzz_name} PRIVATE AMPHORA_TEST_DATA="${AMPHORA_SOURCE_DIR}/tests/data")
      target_link_options(${fuzz_name} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
