# How CPack makes the package for Debian 12 from the folder that the variable STAGE names (scripts/make_deb), whose other variables are VERSION and
# the packages that it needs. CPack's own search for those would look at each of LibTorch's ten thousand headers.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME drift)
set(CPACK_PACKAGE_VERSION $ENV{VERSION})
set(CPACK_PACKAGE_FILE_NAME drift)  # DEB-DEFAULT below replaces it
set(CPACK_PACKAGE_VENDOR Drift)
set(CPACK_PACKAGE_CONTACT "The authors of Drift <drift@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "reinforcement learning for masked diffusion language models")
set(CPACK_PACKAGE_DESCRIPTION "Drift trains masked diffusion language models with reinforcement
learning. A run is one TOML file; every algorithm, backbone, rollout
and reward is a plugin. The package holds the program, the plugins
that ship, the SDK for others, and LibTorch for the CPU.")
set(CPACK_INSTALLED_DIRECTORIES "$ENV{STAGE};/")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_STRIP_FILES OFF)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)  # LibTorch takes xz ten minutes on two cores
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "$ENV{DEPENDS}")
# The sandbox of the code reward; components in Python; several processes.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bubblewrap, python3, $ENV{DEPENDS_OF_MPI}")
# To build plugins; to start several processes.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, make, libgtest-dev, openmpi-bin")
