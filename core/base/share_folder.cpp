#include <core/base/share_folder.h>

#include <drift/error.h>

#include <dlfcn.h>

namespace drift {

namespace fs = std::filesystem;

fs::path share_folder() {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&share_folder), &here) == 0) throw Error("cannot find Drift's libraries");
  const fs::path library = fs::weakly_canonical(here.dli_fname);
  // The libraries are in PREFIX/lib, or in PREFIX/lib/x86_64-linux-gnu.
  for (fs::path prefix = library.parent_path(); prefix.has_relative_path(); prefix = prefix.parent_path()) {
    if (const fs::path folder = prefix / "share/drift"; fs::is_directory(folder / "configs")) return folder;
  }
  throw Error("no folder share/drift above " + library.string(),
              "cmake --install BUILD_FOLDER --prefix FOLDER, then use FOLDER/bin/drift");
}

}  // namespace drift
