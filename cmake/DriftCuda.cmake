# Whether this build has `--device cuda`. LibTorch's own kernels do most of the work; core/kernels/cuda has others. Nothing
# is linked to libtorch_cuda.so, which is next to libtorch_cpu.so and is loaded when a run asks for the device. The
# CUDA Toolkit indicates that this machine is meant for it.
set_property(CACHE DRIFT_CUDA PROPERTY STRINGS AUTO ON OFF)
find_program(DRIFT_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
find_file(DRIFT_LIBTORCH_CUDA libtorch_cuda.so PATHS ${DRIFT_LIBTORCH_ROOT}/lib NO_DEFAULT_PATH)
mark_as_advanced(DRIFT_NVCC DRIFT_LIBTORCH_CUDA)

set(DRIFT_WITH_CUDA OFF)
if(DRIFT_CUDA STREQUAL "OFF")
  set(reason "DRIFT_CUDA is OFF")
elseif(NOT DRIFT_LIBTORCH_CUDA)
  set(reason "this LibTorch is a CPU build")
elseif(DRIFT_CUDA STREQUAL "AUTO" AND NOT DRIFT_NVCC)
  set(reason "nvcc is not found")
else()
  set(DRIFT_WITH_CUDA ON)
endif()
if(DRIFT_WITH_CUDA AND NOT DRIFT_NVCC)
  message(STATUS "CUDA: --device cuda is built without kernels, for the stand-in (tests/standin): nvcc is not found")
elseif(DRIFT_WITH_CUDA)
  message(STATUS "CUDA: --device cuda is built (${DRIFT_LIBTORCH_CUDA})")
elseif(DRIFT_CUDA STREQUAL "ON")
  message(FATAL_ERROR "DRIFT_CUDA is ON, but ${reason}")
else()
  message(STATUS "CUDA: CPU only, ${reason}")
endif()

# The folder with bin/nvcc.
if(DRIFT_NVCC)
  get_filename_component(DRIFT_CUDA_TOOLKIT ${DRIFT_NVCC} REALPATH)
  cmake_path(GET DRIFT_CUDA_TOOLKIT PARENT_PATH DRIFT_CUDA_TOOLKIT)
  cmake_path(GET DRIFT_CUDA_TOOLKIT PARENT_PATH DRIFT_CUDA_TOOLKIT)
endif()

# drift_add_cuda_library(NAME file.cu...): a shared library of kernels for the architectures below. It carries its own CUDA
# runtime, which asks for a driver only when it is called, so the library loads on machines without one. What ptxas
# says of each kernel's registers and memory is in FILE.ptxas beside the object (docs/performance.md). The project's own
# language CUDA would pass every option of the C++ compiler to nvcc.
set(DRIFT_CUDA_ARCHITECTURES 80 89 90 100 CACHE STRING "What nvcc compiles kernels for")
function(drift_add_cuda_library name)
  set(options -std=c++20 -O3 --expt-relaxed-constexpr -Xptxas -v -Xcompiler=-fPIC,-fvisibility=hidden,-Wall
              -ccbin ${CMAKE_CXX_COMPILER} -I${CMAKE_SOURCE_DIR})
  foreach(architecture ${DRIFT_CUDA_ARCHITECTURES})
    list(APPEND options -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET DRIFT_CUDA_ARCHITECTURES -1 newest)  # and what a later one compiles for itself
  list(APPEND options -gencode arch=compute_${newest},code=compute_${newest})
  set(objects "")
  foreach(file ${ARGN})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${file}.o)
    set(compile ${CMAKE_CXX_COMPILER_LAUNCHER} ${DRIFT_NVCC} ${options} -MD -MT ${object} -MF ${object}.d
                -c ${CMAKE_CURRENT_SOURCE_DIR}/${file} -o ${object})
    list(JOIN compile " " compile)
    add_custom_command(OUTPUT ${object} MAIN_DEPENDENCY ${file} DEPFILE ${object}.d VERBATIM
      COMMENT "nvcc ${file}"
      COMMAND sh -c "${compile} >${file}.ptxas 2>&1 || { cat ${file}.ptxas; exit 1; }")
    list(APPEND objects ${object})
  endforeach()
  find_library(DRIFT_CUDART_STATIC cudart_static HINTS ${DRIFT_CUDA_TOOLKIT}/lib64 ${DRIFT_CUDA_TOOLKIT}/targets/x86_64-linux/lib REQUIRED)
  mark_as_advanced(DRIFT_CUDART_STATIC)
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE ${DRIFT_CUDART_STATIC} ${CMAKE_DL_LIBS} rt pthread)
endfunction()
