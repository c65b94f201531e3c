# drift_precompile(TARGET [TESTS])
# Headers that most files include are compiled once: reading LibTorch's tensor class takes longer than compiling the file's own text.
# Only headers of other projects belong here, so that editing Drift never compiles them again. libdrift_nn and
# libdrift_core, which export all their functions, share one set; libdrift, plugins, program and benchmarks another; tests
# (with GoogleMock) a third.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows a missing #include.
set(DRIFT_PRECOMPILED_HEADERS
    <ATen/TensorOperators.h> <ATen/core/Tensor.h> <ATen/ops/arange.h> <ATen/ops/empty.h> <ATen/ops/full.h> <ATen/ops/ones.h>
    <ATen/ops/sum.h> <ATen/ops/where.h> <ATen/ops/zeros.h> <ATen/ops/zeros_like.h>
    <nlohmann/json.hpp>
    <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <optional>
    <set> <sstream> <string> <string_view> <thread> <utility> <variant> <vector>)

# One set serves libraries and executables alike only if both are compiled with the same flag.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)

function(drift_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "" "")
  if(target MATCHES "^drift_(nn|core)$")
    _drift_precompiled_set(drift_core_precompiled ${DRIFT_PRECOMPILED_HEADERS})
    set_target_properties(drift_core_precompiled PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
    target_precompile_headers(${target} REUSE_FROM drift_core_precompiled)
  elseif(arg_TESTS)
    _drift_precompiled_set(drift_test_precompiled ${DRIFT_PRECOMPILED_HEADERS} <gmock/gmock.h>)
    target_link_libraries(drift_test_precompiled PRIVATE GTest::gmock)
    target_precompile_headers(${target} REUSE_FROM drift_test_precompiled)
  else()
    _drift_precompiled_set(drift_precompiled ${DRIFT_PRECOMPILED_HEADERS})
    target_precompile_headers(${target} REUSE_FROM drift_precompiled)
  endif()
endfunction()

# An empty source file that is compiled with the headers, once.
function(_drift_precompiled_set name)
  if(NOT TARGET ${name})
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
    add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PRIVATE drift::torch nlohmann_json::nlohmann_json)
    target_precompile_headers(${name} PRIVATE ${ARGN})
    # ccache hashes this text instead of the 400 MB that it represents. The effect of flags it gets from the flags.
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum
         CONTENT "${ARGN} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${DRIFT_LIBTORCH_VERSION} \
${nlohmann_json_VERSION} ${GTest_VERSION}" @ONLY)
  endif()
endfunction()
