# drift_add_tests(ROOM FILES pattern... [LABELS label...] [TIMEOUT seconds] [LIBRARIES target...] [DEPENDS target...])
# One test program, ROOM_tests, of all files that match, compiled in batches. Each file is a ctest entry of its own, which
# runs its tests in a process of its own (tests/support/main.cpp). The label is fast unless another is given. Tests run in a
# UTF-8 locale on every machine. Before those that include training_run.h, base_checkpoint_test makes a model for all.
# What a file NAME.cpp alone needs is set before the call:
#   NAME_LABELS, NAME_TIMEOUT   instead of the room's
#   NAME_ENVIRONMENT            variables to add
#   NAME_ASCII                  a GoogleTest filter: the tests that run again, as the entry NAME_ascii, in a locale without
#                               UTF-8, like that of a bare container
#   NAME_DATA                   a GoogleTest filter: the tests that read data/, which scripts/fetch_data fills. They are a
#                               separate entry, NAME_data, with the additional label data; "*" is all of them, and then
#                               NAME has that label
function(drift_add_tests room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "FILES;LABELS;LIBRARIES;DEPENDS")
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${arg_FILES})
  set(program ${room}_tests)
  add_executable(${program} ${CMAKE_SOURCE_DIR}/tests/support/main.cpp ${files})
  target_link_libraries(${program} PRIVATE drift::core drift_test_support ${arg_LIBRARIES})
  if(arg_DEPENDS)
    add_dependencies(${program} ${arg_DEPENDS})
  endif()
  set(headers PLAIN)
  foreach(file ${files})
    file(STRINGS ${file} sees_tensors LIMIT_COUNT 1 REGEX
         "#include .(ATen/|core/(components|eval|kernels|nn|rollout|train|update)/|tests/support/(golden_backbones|plugins|rollouts|tensors|tiny_model))")
    if(sees_tensors)
      set(headers)
    endif()
    cmake_path(GET file STEM name)
    file(STRINGS ${file} trains LIMIT_COUNT 1 REGEX "#include .tests/(support/training_run|ranks/ranks_run)\\.h")
    _drift_add_test_entries(${program} ${name})
  endforeach()
  drift_precompile(${program} TESTS ${headers})
  drift_compile_in_batches(8 ${program})
  drift_compile_quickly(${program})
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_property(GLOBAL APPEND PROPERTY DRIFT_TEST_FILES ${files})
endfunction()

# Tests that change seldom and take long: `scripts/test` runs them when their files changed.
set(nightly_list ${CMAKE_SOURCE_DIR}/tests/nightly)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${nightly_list})
file(STRINGS ${nightly_list} DRIFT_NIGHTLY_TESTS REGEX "^[a-z]")
list(TRANSFORM DRIFT_NIGHTLY_TESTS REPLACE ":.*" "")

# Of every entry.
set(DRIFT_TEST_ENVIRONMENT DRIFT_BIN=${CMAKE_BINARY_DIR}/bin/drift DRIFT_SOURCE_DIR=${CMAKE_SOURCE_DIR}
    DRIFT_BUILD_DIR=${CMAKE_BINARY_DIR} OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive)
# Nothing passed, and GoogleTest's list of skipped tests ends the output (a list of failed ones would follow it).
set(DRIFT_TEST_SKIPPED "PASSED  . 0 tests.[\n]+(.  SKIPPED . [^\n]*[\n]+)+$")

# The entries of one file, with the caller's arguments.
function(_drift_add_test_entries program name)
  foreach(setting LABELS TIMEOUT)
    if(${name}_${setting})
      set(arg_${setting} ${${name}_${setting}})
    endif()
  endforeach()
  if(name IN_LIST DRIFT_NIGHTLY_TESTS)
    list(APPEND arg_LABELS nightly)
  endif()
  set(data ${${name}_DATA})
  set(entries ${name})
  if(data AND NOT data STREQUAL "*")
    list(APPEND entries ${name}_data)
  endif()
  if(${name}_ASCII)
    list(APPEND entries ${name}_ascii)
  endif()
  foreach(entry ${entries})
    set(labels ${arg_LABELS})
    set(environment LC_ALL=C.UTF-8)
    if(entry MATCHES "_ascii$")
      set(environment LC_ALL=C "GTEST_FILTER=${${name}_ASCII}")
    elseif(data STREQUAL "*" OR entry MATCHES "^${name}_data")
      list(APPEND labels data)
      list(APPEND environment DRIFT_TEST_DATA=1 "GTEST_FILTER=${data}")
    elseif(data)
      list(APPEND environment "GTEST_FILTER=-${data}")
    endif()
    add_test(NAME ${entry} COMMAND ${program} ${name})
    if(DRIFT_CCACHE)  # of plugins that tests build in temporary folders, whose names differ
      list(APPEND environment "CMAKE_CXX_COMPILER_LAUNCHER=${DRIFT_CCACHE}" CCACHE_BASEDIR=/tmp
           CCACHE_NOHASHDIR=1)
    endif()
    set_tests_properties(${entry} PROPERTIES
      LABELS "${labels}" TIMEOUT ${arg_TIMEOUT} SKIP_REGULAR_EXPRESSION "${DRIFT_TEST_SKIPPED}"
      ENVIRONMENT "${environment};${DRIFT_TEST_ENVIRONMENT};${${name}_ENVIRONMENT}")
    if(trains AND NOT name STREQUAL "base_checkpoint_test")
      set_tests_properties(${entry} PROPERTIES FIXTURES_REQUIRED base_checkpoint)
    endif()
    if(arg_LABELS MATCHES "slow")  # first, so that the last test is a short one
      set_tests_properties(${entry} PROPERTIES COST 100)
    endif()
  endforeach()
endfunction()
