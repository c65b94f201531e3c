# drift_precompile(TARGET [TESTS] [PLAIN])
# Headers that most files include are compiled once: reading LibTorch's tensor class takes longer than compiling the file's own text.
# Only headers of other projects belong here, so that editing Drift never compiles them again. A file pays 3 s for
# the set with tensors whether it needs them or not, and 0.5 s for the plain one: PLAIN is for targets without tensors.
# Tests have sets of their own (with GoogleMock). Their names are visible: libdrift_nn and libdrift_core export all their functions,
# and what libdrift and the plugins export is listed for the linker.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows a missing #include.
set(DRIFT_PLAIN_HEADERS
    <nlohmann/json.hpp>
    <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <optional>
    <set> <sstream> <string> <string_view> <thread> <utility> <variant> <vector>)
set(DRIFT_TENSOR_HEADERS
    <ATen/TensorOperators.h> <ATen/core/Tensor.h> <ATen/ops/arange.h> <ATen/ops/empty.h> <ATen/ops/full.h> <ATen/ops/ones.h>
    <ATen/ops/sum.h> <ATen/ops/where.h> <ATen/ops/zeros.h> <ATen/ops/zeros_like.h>
    ${DRIFT_PLAIN_HEADERS})

# One set serves libraries and executables alike only if both are compiled with the same flag.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)

function(drift_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS;PLAIN" "" "")
  set(set precompiled)
  set(headers ${DRIFT_TENSOR_HEADERS})
  if(arg_PLAIN)
    set(set plain_${set})
    set(headers ${DRIFT_PLAIN_HEADERS})
  endif()
  if(arg_TESTS)
    set(set test_${set})
    list(APPEND headers <gmock/gmock.h>)
  endif()
  set(set drift_${set})
  _drift_precompiled_set(${set} ${headers})
  if(arg_TESTS)
    target_link_libraries(${set} PRIVATE GTest::gmock)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${set})
endfunction()

# A library with an empty source file, to which the headers belong.
function(_drift_precompiled_set name)
  if(NOT TARGET ${name})
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
    add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PRIVATE drift::torch nlohmann_json::nlohmann_json)
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
    target_precompile_headers(${name} PRIVATE ${ARGN})
    # ccache takes this text for the 100 or 400 MB that it stands for. What flags decide, ccache knows from the flags.
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum
         CONTENT "${ARGN} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${DRIFT_LIBTORCH_VERSION} \
${nlohmann_json_VERSION} ${GTest_VERSION}" @ONLY)
  endif()
endfunction()
