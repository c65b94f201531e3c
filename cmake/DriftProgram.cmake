# drift_add_program(NAME source...)
# A program of the tree in two files. The target NAME is a shared library, lib<NAME>.so, whose main() is marked DRIFT_API.
# The executable beside it, <NAME>_launcher, sets the process up and loads it; see core/launch/launcher.cpp.
function(drift_add_program name)
  add_library(${name} MODULE ${ARGN})
  drift_precompile(${name})
  add_executable(${name}_launcher ${CMAKE_SOURCE_DIR}/core/launch/launcher.cpp)
  target_compile_definitions(${name}_launcher PRIVATE DRIFT_PROGRAM="lib${name}.so")
  target_link_libraries(${name}_launcher PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${name}_launcher PROPERTIES
    OUTPUT_NAME ${name}
    BUILD_RPATH ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  add_dependencies(${name} ${name}_launcher)  # whoever asks for the program gets both
endfunction()
