# drift_add_plugin(NAME source...)
# One shared library that exports one symbol and is placed where the program looks for plugins. The same file is
# part of the installed SDK, so that a plugin's CMakeLists.txt is one call in the tree and out of it. Files presets/*.toml
# next to that CMakeLists.txt are compiled into the library; drift::plugin_presets() gives them.
set(DRIFT_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/DriftPlugin.map)

# Where the folder presets/ holds files: writes FILE, the definition of drift::plugin_presets(), and sets VARIABLE to FILE.
function(drift_write_presets file variable)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/presets)
  file(GLOB presets CONFIGURE_DEPENDS ${folder}/*.toml)
  if(NOT presets)
    return()
  endif()
  set(${variable} ${file} PARENT_SCOPE)
  list(SORT presets)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${presets})
  # Messages name a preset's file as the author knows it: from the project's folder on.
  set(root ${CMAKE_SOURCE_DIR})
  if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
    cmake_path(GET root PARENT_PATH root)
  endif()
  set(entries "")
  foreach(preset ${presets})
    cmake_path(GET preset STEM LAST_ONLY name)
    cmake_path(RELATIVE_PATH preset BASE_DIRECTORY ${root} OUTPUT_VARIABLE origin)
    file(READ ${preset} text)
    string(APPEND entries "      {\"${name}\", \"${origin}\", R\"drift_preset(${text})drift_preset\"},\n")
  endforeach()
  set(source "// Made by drift_add_plugin() from the TOML files in presets/.
#include <drift/error.h>
#include <drift/registry.h>

#include <algorithm>

namespace drift {

std::vector<AlgorithmPreset> plugin_presets(std::string_view first) {
  std::vector<AlgorithmPreset> presets = {
${entries}  };
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const AlgorithmPreset& p) { return p.name == first; });
  if (found == presets.end()) {
    throw Error(\"the plugin has no preset `\" + std::string(first) + \"`\", \"write presets/\" + std::string(first) + \".toml\");
  }
  std::rotate(presets.begin(), found, found + 1);
  return presets;
}

}  // namespace drift
")
  set(written "")
  if(EXISTS ${file})
    file(READ ${file} written)
  endif()
  if(NOT written STREQUAL source)  # else everything that depends on it would be built again
    file(WRITE ${file} "${source}")
  endif()
endfunction()

# What every plugin has in common: its file's name and place, and one exported symbol.
function(_drift_finish_plugin name)
  set_target_properties(drift_plugin_${name} PROPERTIES
    PREFIX "lib" OUTPUT_NAME ${name}
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${DRIFT_PLUGIN_MAP})
  # Hidden visibility does not reach inline functions and type information of headers that ask to be visible.
  target_link_options(drift_plugin_${name} PRIVATE LINKER:--version-script=${DRIFT_PLUGIN_MAP} LINKER:-z,defs)
  if(DRIFT_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(drift_plugin_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${DRIFT_PLUGIN_OUTPUT_DIRECTORY})
  endif()
  if(DRIFT_PLUGIN_INSTALL_DIRECTORY)
    install(TARGETS drift_plugin_${name} LIBRARY DESTINATION ${DRIFT_PLUGIN_INSTALL_DIRECTORY})
  endif()
endfunction()

function(drift_add_plugin name)
  set(presets "")
  drift_write_presets(${CMAKE_CURRENT_BINARY_DIR}/${name}_presets.cpp presets)
  add_library(drift_plugin_${name} MODULE ${ARGN} ${presets})
  target_link_libraries(drift_plugin_${name} PRIVATE drift::drift)
  target_compile_features(drift_plugin_${name} PRIVATE cxx_std_20)
  set_target_properties(drift_plugin_${name} PROPERTIES
    INSTALL_RPATH "$ORIGIN/../.."  # libdrift, from lib/drift/plugins
    DRIFT_PRESETS "${presets}")
  _drift_finish_plugin(${name})
  set_property(GLOBAL APPEND PROPERTY DRIFT_PLUGINS drift_plugin_${name})
  if(COMMAND drift_precompile)  # in the tree
    drift_precompile(drift_plugin_${name} ${DRIFT_PLUGIN_HEADERS})
    drift_compile_in_batches(0 drift_plugin_${name})
  endif()
endfunction()

# drift_add_backbone(NAME [VERSION X.Y.Z] [source...])
# A plugin whose model NAME is what the description NAME.toml, next to the CMakeLists.txt, says (docs/backbones.md). The
# description is compiled in. With sources they hold the plugin's DRIFT_PLUGIN, and find the description's text in
# drift::plugin_description(): a class derived from drift::nn::DescribedModel adds what a description cannot say.
function(drift_add_backbone name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION" "")
  if(NOT arg_VERSION)
    set(arg_VERSION 0.1.0)
  endif()
  set(description ${CMAKE_CURRENT_SOURCE_DIR}/${name}.toml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${description})
  cmake_path(RELATIVE_PATH description BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE origin)
  file(READ ${description} text)
  set(plugin "")
  if(NOT arg_UNPARSED_ARGUMENTS)
    set(plugin "
DRIFT_PLUGIN(\"${name}\", \"${arg_VERSION}\", \"Apache-2.0\") {
  drift::nn::add_described(registry, \"${name}\", drift::plugin_description(), \"${origin}\");
}
")
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_description.cpp)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "// Made by drift_add_backbone() from ${origin}.
#include <core/nn/described_model.h>

#include <drift/plugin.h>

#include <string_view>

namespace drift {
std::string_view plugin_description();
std::string_view plugin_description() {
  return R\"toml(${text})toml\";
}
}  // namespace drift
${plugin}")
  drift_add_plugin(${name} ${file} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(drift_plugin_${name} PRIVATE drift::nn)
endfunction()

# drift_add_plugin_test(NAME source... [CHECK argument...])
# The tests of the plugin NAME for `ctest`: NAME_test, the source with GoogleTest, which includes the plugin's source; and
# NAME_rules, `drift plugin check` with the arguments after CHECK.
function(drift_add_plugin_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" CHECK)
  add_test(NAME ${name}_rules COMMAND ${DRIFT_PROGRAM} plugin check $<TARGET_FILE:drift_plugin_${name}> ${test_CHECK})
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "GoogleTest is missing, so ${test_UNPARSED_ARGUMENTS} is not built (Debian: apt install libgtest-dev)")
    return()
  endif()
  get_target_property(libraries drift_plugin_${name} LINK_LIBRARIES)
  get_target_property(presets drift_plugin_${name} DRIFT_PRESETS)
  add_executable(${name}_test ${test_UNPARSED_ARGUMENTS})
  if(presets)
    target_sources(${name}_test PRIVATE ${presets})
  endif()
  target_link_libraries(${name}_test PRIVATE ${libraries} GTest::gtest_main)
  target_compile_features(${name}_test PRIVATE cxx_std_20)
  add_test(NAME ${name}_test COMMAND ${name}_test)
endfunction()

# drift_add_pure_plugin(NAME source...)
# A plugin over plain arrays (drift/pure.h), in C99 or C++17. It needs neither LibTorch nor libdrift:
# find_package(drift COMPONENTS pure) looks for neither.
function(drift_add_pure_plugin name)
  add_library(drift_plugin_${name} MODULE ${ARGN})
  target_link_libraries(drift_plugin_${name} PRIVATE drift::pure m)
  set_target_properties(drift_plugin_${name} PROPERTIES INSTALL_RPATH "")
  _drift_finish_plugin(${name})
endfunction()

# drift_add_pure_plugin_test(NAME source...)
# The tests of the plugin NAME for `ctest`: NAME_test, a program, which includes the plugin's source; and NAME_rules,
# `drift plugin check`.
function(drift_add_pure_plugin_test name)
  add_test(NAME ${name}_rules COMMAND ${DRIFT_PROGRAM} plugin check $<TARGET_FILE:drift_plugin_${name}>)
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE drift::pure m)
  add_test(NAME ${name}_test COMMAND ${name}_test)
endfunction()
