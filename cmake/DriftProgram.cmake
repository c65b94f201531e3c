# drift_add_program(NAME source...)
# A program of the tree in two files. The target NAME is a shared library, lib/lib<NAME>.so, whose main() is marked DRIFT_API.
# The executable, <NAME>_launcher, sets the process up and loads ../lib/lib<NAME>.so; see core/cli/launcher.cpp.
function(drift_add_program name)
  add_library(${name} MODULE ${ARGN})
  drift_precompile(${name})
  add_executable(${name}_launcher ${CMAKE_SOURCE_DIR}/core/cli/launcher.cpp)
  target_compile_definitions(${name}_launcher PRIVATE DRIFT_PROGRAM="../lib/lib${name}.so")
  target_link_libraries(${name}_launcher PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${name}_launcher PROPERTIES OUTPUT_NAME ${name} INSTALL_RPATH "")
  add_dependencies(${name} ${name}_launcher)  # whoever asks for the program gets both
endfunction()
