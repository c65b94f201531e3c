# drift_add_test(FILE [LABELS label...] [LIBRARIES target...] [BOTH_LOCALES] [DATA filter])
# One test program per file, one ctest entry per program. The label is fast unless another is given. Tests run in a UTF-8
# locale on every machine; with BOTH_LOCALES a second entry, NAME_ascii, runs in one without UTF-8, like that of a bare
# container. DATA is a GoogleTest filter: the tests that read data/, which scripts/fetch_data fills. They are an
# separate entry, NAME_data, with the additional label data; "*" is all of them, and then NAME has that label.
function(drift_add_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BOTH_LOCALES" "TIMEOUT;DATA" "LABELS;LIBRARIES")
  cmake_path(GET file STEM name)
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE drift::core drift_test_support GTest::gmock_main ${arg_LIBRARIES})
  file(STRINGS ${file} sees_tensors LIMIT_COUNT 1 REGEX
       "#include .(ATen/|core/(components|eval|kernels|nn|rollout|train|update)/|tests/support/(golden_backbones|plugins|rollouts|tiny_model))")
  if(sees_tensors)
    drift_precompile(${name} TESTS)
  else()
    drift_precompile(${name} TESTS PLAIN)
  endif()
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set(entries ${name})
  if(arg_DATA AND NOT arg_DATA STREQUAL "*")
    list(APPEND entries ${name}_data)
  endif()
  if(arg_BOTH_LOCALES)
    list(TRANSFORM entries APPEND _ascii OUTPUT_VARIABLE ascii_entries)
    list(APPEND entries ${ascii_entries})
  endif()
  foreach(entry ${entries})
    set(labels ${arg_LABELS})
    set(environment LC_ALL=C.UTF-8)
    if(entry MATCHES "_ascii$")
      set(environment LC_ALL=C)
    endif()
    if(arg_DATA STREQUAL "*" OR entry MATCHES "^${name}_data")
      list(APPEND labels data)
      list(APPEND environment DRIFT_TEST_DATA=1 "GTEST_FILTER=${arg_DATA}")
    elseif(arg_DATA)
      list(APPEND environment "GTEST_FILTER=-${arg_DATA}")
    endif()
    add_test(NAME ${entry} COMMAND ${name})
    if(DRIFT_CCACHE)  # of plugins that tests build in temporary folders, whose names differ
      list(APPEND environment "CMAKE_CXX_COMPILER_LAUNCHER=${DRIFT_CCACHE}" CCACHE_BASEDIR=/tmp
           CCACHE_NOHASHDIR=1)
    endif()
    # Skipped: nothing passed, and GoogleTest's list of skipped tests ends the output (a list of failed ones would follow
    # it).
    set_tests_properties(${entry} PROPERTIES
      LABELS "${labels}" TIMEOUT ${arg_TIMEOUT}
      SKIP_REGULAR_EXPRESSION "PASSED  . 0 tests.[\n]+(.  SKIPPED . [^\n]*[\n]+)+$"
      ENVIRONMENT "${environment};DRIFT_BIN=${CMAKE_BINARY_DIR}/bin/drift;DRIFT_SOURCE_DIR=${CMAKE_SOURCE_DIR};DRIFT_BUILD_DIR=${CMAKE_BINARY_DIR};OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
  endforeach()
endfunction()
