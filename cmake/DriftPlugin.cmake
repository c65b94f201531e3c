# drift_add_plugin(NAME source...)
# One shared library that exports one symbol and is placed where the program looks for plugins. The same file is
# part of the installed SDK, so that a plugin's CMakeLists.txt is one call in the tree and out of it.
set(DRIFT_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/DriftPlugin.map)

function(drift_add_plugin name)
  add_library(drift_plugin_${name} MODULE ${ARGN})
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
    drift_precompile(drift_plugin_${name})
  endif()
  if(DRIFT_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(drift_plugin_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${DRIFT_PLUGIN_OUTPUT_DIRECTORY})
  endif()
  if(DRIFT_PLUGIN_INSTALL_DIRECTORY)
    install(TARGETS drift_plugin_${name} LIBRARY DESTINATION ${DRIFT_PLUGIN_INSTALL_DIRECTORY})
  endif()
endfunction()
