# drift_add_test(FILE [LABELS label...] [LIBRARIES target...] [BOTH_LOCALES])
# One test program per file, one ctest entry per program. The label is fast unless another is given. Tests run in a UTF-8
# locale, whatever the machine's is; with BOTH_LOCALES a second entry, NAME_ascii, runs in one without UTF-8, as a bare
# container has it.
function(drift_add_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BOTH_LOCALES" "TIMEOUT" "LABELS;LIBRARIES")
  cmake_path(GET file STEM name)
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE drift::drift drift_test_support GTest::gmock_main ${arg_LIBRARIES})
  drift_precompile(${name} TESTS)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set(entries ${name})
  if(arg_BOTH_LOCALES)
    list(APPEND entries ${name}_ascii)
  endif()
  foreach(entry ${entries})
    set(locale C.UTF-8)
    if(entry STREQUAL "${name}_ascii")
      set(locale C)
    endif()
    add_test(NAME ${entry} COMMAND ${name})
    # Skipped: nothing passed, and GoogleTest's list of skipped tests ends the output (a list of failed ones would follow
    # it).
    set_tests_properties(${entry} PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
      SKIP_REGULAR_EXPRESSION "PASSED  . 0 tests.[\n]+(.  SKIPPED . [^\n]*[\n]+)+$"
      ENVIRONMENT "LC_ALL=${locale};DRIFT_BIN=${CMAKE_BINARY_DIR}/bin/drift;DRIFT_SOURCE_DIR=${CMAKE_SOURCE_DIR};DRIFT_BUILD_DIR=${CMAKE_BINARY_DIR};OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
  endforeach()
endfunction()
