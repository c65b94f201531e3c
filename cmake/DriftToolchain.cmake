# How this tree is compiled: launcher, linker, warnings, sanitizers, batches.
find_program(DRIFT_CCACHE ccache)
if(DRIFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Clones share results, with precompiled headers too.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${DRIFT_CCACHE})
endif()

find_program(DRIFT_MOLD mold)
if(DRIFT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>" -Werror=return-type
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # false alarms of GCC 12 on std::string (its bug 105651)
# Paths in the binaries do not depend on the location of the tree.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache

if(DRIFT_SANITIZE)
  add_compile_options(-fsanitize=${DRIFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DRIFT_SANITIZE})
endif()

# Three things keep a build from nothing short. Processor seconds of two batches of eight files of the core: 8 and 10
# with all three; 14 and 15 without precompiled headers (DriftPrecompiled.cmake); 28 and 27 file by file. Of three
# batches without tensors: 26 at -O1, 33 at -O2, 39 at -O3.

# drift_compile_quickly(target...)
# -O1, for what reads, writes, prints and calls LibTorch: the kernels, the loops of rollouts and the plugins have the
# optimizer's time. The tokenizer and the checksums, measured, are as fast as at -O3.
function(drift_compile_quickly)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

# drift_compile_in_batches(SIZE target...)
# The files of a library are compiled in batches of SIZE, 0 for one batch: each reads what it includes once. After an
# edit a batch is compiled again, up to 20 s. For work on the core: -DDRIFT_BATCHES=OFF.
option(DRIFT_BATCHES "compile the files of a library in batches" ON)
function(drift_compile_in_batches size)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${DRIFT_BATCHES} UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# drift_embed_text(TARGET FILE NAMESPACE NAME)
# A list that is data: FILE of this folder becomes the constant NAME, which is declared `extern const char* const`.
function(drift_embed_text target file namespace name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  cmake_path(GET file STEM stem)
  file(CONFIGURE OUTPUT ${stem}.cpp CONTENT "// Made from ${file}.
namespace ${namespace} {
extern const char* const ${name};
const char* const ${name} = R\"(${text})\";
}  // namespace ${namespace}
")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${stem}.cpp)
endfunction()
