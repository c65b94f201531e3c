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

std::vector<BundlePreset> plugin_presets(std::string_view first) {
  std::vector<BundlePreset> presets = {
${entries}  };
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const BundlePreset& p) { return p.name == first; });
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

function(drift_add_plugin name)
  set(presets "")
  drift_write_presets(${CMAKE_CURRENT_BINARY_DIR}/${name}_presets.cpp presets)
  add_library(drift_plugin_${name} MODULE ${ARGN} ${presets})
  target_link_libraries(drift_plugin_${name} PRIVATE drift::drift)
  target_compile_features(drift_plugin_${name} PRIVATE cxx_std_20)
  set_target_properties(drift_plugin_${name} PROPERTIES
    PREFIX "lib" OUTPUT_NAME ${name}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    INSTALL_RPATH "$ORIGIN/../.."  # libdrift, from lib/drift/plugins
    LINK_DEPENDS ${DRIFT_PLUGIN_MAP})
  # Hidden visibility does not reach inline functions and type information of headers that ask to be visible.
  target_link_options(drift_plugin_${name} PRIVATE LINKER:--version-script=${DRIFT_PLUGIN_MAP} LINKER:-z,defs)
  if(COMMAND drift_precompile)  # in the tree
    drift_precompile(drift_plugin_${name} ${DRIFT_PLUGIN_HEADERS})
    drift_compile_in_batches(0 drift_plugin_${name})
  endif()
  if(DRIFT_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(drift_plugin_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${DRIFT_PLUGIN_OUTPUT_DIRECTORY})
  endif()
  if(DRIFT_PLUGIN_INSTALL_DIRECTORY)
    install(TARGETS drift_plugin_${name} LIBRARY DESTINATION ${DRIFT_PLUGIN_INSTALL_DIRECTORY})
  endif()
endfunction()
