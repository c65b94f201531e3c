# LibTorch as imported targets. The wheel's own find_package(Torch) insists on the CUDA Toolkit; a CPU build needs
# only torch_cpu and c10. Looked for in: -DTorch_ROOT, the active Python's torch, the folder scripts/setup fills. The same
# file is part of the installed SDK.
set(DRIFT_LIBTORCH_VERSION 2.11.0)

function(_drift_libtorch_version root out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS ${root}/version.py)
    file(STRINGS ${root}/version.py line REGEX "^__version__")
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${line}")
    set(${out} "${version}" PARENT_SCOPE)
  elseif(EXISTS ${root}/build-version)
    file(READ ${root}/build-version line)
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${line}")
    set(${out} "${version}" PARENT_SCOPE)
  endif()
endfunction()

function(_drift_find_libtorch)
  set(candidates ${Torch_ROOT})
  find_program(DRIFT_PYTHON python3)
  if(DRIFT_PYTHON AND NOT Torch_ROOT)
    execute_process(COMMAND ${DRIFT_PYTHON} -c
      "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
      OUTPUT_VARIABLE python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND candidates ${python_torch})
  endif()
  if(DEFINED ENV{XDG_CACHE_HOME})
    list(APPEND candidates $ENV{XDG_CACHE_HOME}/drift/libtorch-${DRIFT_LIBTORCH_VERSION}/torch)
  endif()
  list(APPEND candidates $ENV{HOME}/.cache/drift/libtorch-${DRIFT_LIBTORCH_VERSION}/torch)
  set(seen "")
  foreach(root ${candidates})
    _drift_libtorch_version(${root} version)
    if(version VERSION_EQUAL DRIFT_LIBTORCH_VERSION)
      set(DRIFT_LIBTORCH_ROOT ${root} CACHE PATH "LibTorch ${DRIFT_LIBTORCH_VERSION}" FORCE)
      return()
    endif()
    list(APPEND seen "${root} (${version})")
  endforeach()
  list(JOIN seen "\n  " seen)
  message(FATAL_ERROR "LibTorch ${DRIFT_LIBTORCH_VERSION} not found. Run scripts/setup, or pass -DTorch_ROOT=DIR. "
                      "Looked at:\n  ${seen}")
endfunction()
_drift_find_libtorch()
message(STATUS "LibTorch ${DRIFT_LIBTORCH_VERSION}: ${DRIFT_LIBTORCH_ROOT}")

function(_drift_torch_library name)
  add_library(drift_torch_${name} SHARED IMPORTED GLOBAL)
  set_target_properties(drift_torch_${name} PROPERTIES
    IMPORTED_LOCATION ${DRIFT_LIBTORCH_ROOT}/lib/lib${name}.so
    IMPORTED_NO_SONAME OFF)
  target_include_directories(drift_torch_${name} SYSTEM INTERFACE
    ${DRIFT_LIBTORCH_ROOT}/include ${DRIFT_LIBTORCH_ROOT}/include/torch/csrc/api/include)
endfunction()

if(NOT TARGET drift::torch)
  _drift_torch_library(c10)
  _drift_torch_library(torch_cpu)
  # What libtorch_cpu.so needs in turn (libgomp, CUDA's runtime stub) is found by its own rpath when it is loaded.
  target_link_options(drift_torch_torch_cpu INTERFACE -Wl,--allow-shlib-undefined)
  add_library(drift::torch INTERFACE IMPORTED GLOBAL)
  target_link_libraries(drift::torch INTERFACE drift_torch_torch_cpu drift_torch_c10)
  # LibTorch is built with NDEBUG, without which its headers declare other members (at::RecordFunction).
  target_compile_definitions(drift::torch INTERFACE $<$<NOT:$<CONFIG:Release>>:NDEBUG>)
endif()
