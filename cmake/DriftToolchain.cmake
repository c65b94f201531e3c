# How this tree is compiled: launcher, linker, warnings, sanitizers.
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
