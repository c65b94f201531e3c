# shellcheck shell=bash
# What scripts/make_deb and scripts/make_wheel share: an installed Drift that finds its libraries wherever it lies. Sourced
# from the root of the tree.
#
# Laid out in a folder PREFIX, as `cmake --install` does it, and in addition
#   lib/drift/libraries   libraries that the machine of a user may lack

# die MESSAGE HINT...
die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  shift
  (($# == 0)) || printf '  = %s\n' "$@" >&2
  exit 1
}

# need COMMAND PACKAGE: each pair is a command and the Debian package that has it.
need() {
  local missing=()
  while (($#)); do
    command -v "$1" >/dev/null || missing+=("$2")
    shift 2
  done
  ((${#missing[@]} == 0)) || die "Debian packages are missing: ${missing[*]}" "apt-get install ${missing[*]}"
}

# cached NAME: a value of the build's CMakeCache.txt.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }

drift_version() { sed -n 's/^project(drift VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt; }

# Sets up and builds, unless the folder of a finished build was given.
prepare_build() {
  [[ $build ]] || { scripts/setup --without-tests && build=build/release; }
  [[ -x $build/bin/drift && -f $build/CMakeCache.txt ]] || die "$build holds no built Drift" "scripts/setup --without-tests"
  libtorch=$(cached DRIFT_LIBTORCH_ROOT)
}

is_elf() { [[ -f $1 && ! -L $1 && $(head -c 4 "$1" | tr -d '\0') == $'\x7fELF' ]]; }

# elf_files FOLDER: what the loader reads, one a line.
elf_files() {
  local file
  find "$1" -type f \( -name '*.so' -o -name '*.so.*' -o -path '*/bin/*' \) | while read -r file; do
    if is_elf "$file"; then echo "$file"; fi
  done
}

# stage PREFIX: the installation, without symbols that only a debugger reads and without the folder of this machine's LibTorch.
stage() {
  rm -rf "$1"
  cmake --install "$build" --prefix "$1" --strip >/dev/null
  sed -i "s|$libtorch||" "$1/lib/cmake/drift/driftConfig.cmake"
}

# libraries_of FILE...: "NAME PATH" of all that the loader opens for the files, on this machine.
libraries_of() { ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u; }

# carry PREFIX ACCEPT: copies each library that a staged file needs and the function ACCEPT (NAME PATH) names. The
# processes of a run (libdrift_mpi.so) work with the MPI of the machine that they run on, or not at all.
carry() {
  local prefix=$1 accept=$2 to=$1/lib/drift/libraries name path files
  mapfile -t files < <(elf_files "$prefix" | grep -v '/libdrift_mpi\.so$')
  mkdir -p "$to"
  while read -r name path; do
    [[ ! $(find "$prefix/lib" -name "$name" -print -quit) ]] || continue
    if "$accept" "$name" "$path"; then install -m 644 "$path" "$to/$name"; fi
  done < <(libraries_of "${files[@]}")
}

# from_origin FOLDER FILE: from the folder of FILE to FOLDER, as the loader takes it.
from_origin() { echo "\$ORIGIN/$(realpath -ms --relative-to="$(dirname "$2")" "$1")"; }

# set_run_paths PREFIX TORCH: every file finds Drift's libraries, the carried ones, and LibTorch's in the folder TORCH; no
# path of the machine that built it is left.
set_run_paths() {
  local prefix=$1 torch=$2 file
  elf_files "$prefix" | while read -r file; do
    case $file in
      "$torch"/* | */bin/*) continue ;;  # LibTorch's own find each other; the launcher needs only the C library
    esac
    patchelf --set-rpath "$(from_origin "$prefix/lib" "$file"):$(from_origin "$torch" "$file"):$(
      from_origin "$prefix/lib/drift/libraries" "$file")" "$file"
  done
}

# check_stage PREFIX: nothing that goes to others names a folder of this machine.
check_stage() {
  local file path
  elf_files "$1" | while read -r file; do
    path=$(patchelf --print-rpath "$file" 2>/dev/null || true)
    [[ :$path != *:/* ]] || die "$file looks for libraries in $path, on this machine only"
  done
  ! grep -rlF "$PWD" "$1/lib/cmake" || die "these files name the folder of this tree"
}
