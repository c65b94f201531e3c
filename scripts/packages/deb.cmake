# How CPack makes the package for Debian 12 from the folder STAGE (scripts/make_deb).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME drift)
set(CPACK_PACKAGE_VERSION ${DRIFT_VERSION})
set(CPACK_PACKAGE_VENDOR Drift)
set(CPACK_PACKAGE_CONTACT "The authors of Drift <drift@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "reinforcement learning for masked diffusion language models")
set(CPACK_PACKAGE_DESCRIPTION "Drift trains masked diffusion language models with reinforcement learning. A run is one
TOML file; every algorithm, backbone, rollout and reward is a plugin. The package holds the program, the plugins that ship,
the SDK for others, and LibTorch for the CPU.")
set(CPACK_INSTALLED_DIRECTORIES "${STAGE};/")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_STRIP_FILES OFF)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# dpkg-shlibdeps finds the packages of the libraries. The carried ones are in the package itself.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${STAGE}/usr/lib ${STAGE}/usr/lib/drift/torch/lib ${STAGE}/usr/lib/drift/libraries)
# The sandbox of the code reward, and components in Python.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bubblewrap, python3")
# To build plugins; to run several processes.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, make, libgtest-dev, openmpi-bin")
