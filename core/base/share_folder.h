#pragma once

#include <filesystem>

namespace drift {

/// The folder of what ships beside the libraries: configs, assets, docs, sdk. PREFIX/share/drift; in the tree it leads
/// to the sources. @throws Error if it is missing
std::filesystem::path share_folder();

}  // namespace drift
