#include "interpreter.h"

#include <drift/error.h>

#include <core/base/child_process.h>

#include <unistd.h>

#include <filesystem>
#include <sstream>

namespace drift::code {
namespace {

namespace fs = std::filesystem;

// Which files the interpreter has mapped after it has loaded the extension modules that need further libraries: asking
// the loader is surer than knowing where distributions put things. PT_INTERP (program header 3) names the loader
// itself, by a path that may be a link: each folder on the way counts.
constexpr const char* kDescribe = R"(
import importlib, importlib.util, os, struct, sys, sysconfig
for package in sys.argv[1:]:
    try:
        place, = importlib.util.find_spec(package).submodule_search_locations
        importlib.import_module(package)
    except Exception:
        print('missing', package)
        continue
    print('packages', os.path.dirname(place))
    for folder in (place, place + '.libs'):
        if os.path.isdir(folder): print('folder', folder)
for name in 'bz2 ctypes decimal hashlib lzma math random ssl sqlite3 zlib'.split():
    try: __import__(name)
    except Exception: pass
executable = os.path.realpath(sys.executable)
# Of a virtual environment: the interpreter's that it was made with.
base = {'platbase': sys.base_exec_prefix, 'installed_platbase': sys.base_exec_prefix}
folders = {sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib', vars=base)}
def visit(path):
    while True:
        folder = os.path.realpath(os.path.dirname(path))
        folders.add(folder)
        path = os.path.join(folder, os.path.basename(path))
        if not os.path.islink(path): return
        path = os.path.join(folder, os.readlink(path))
for line in open('/proc/self/maps'):
    fields = line.split(None, 5)
    if len(fields) == 6 and 'x' in fields[1] and fields[5].startswith('/'):
        if fields[5].strip() != executable: visit(fields[5].strip())
with open(executable, 'rb') as file:
    start, = struct.unpack_from('<Q', file.read(64), 32)
    file.seek(start)
    while True:
        header = struct.unpack('<IIQQQQQQ', file.read(56))
        if header[0] == 3:
            file.seek(header[2])
            visit(file.read(header[5] - 1).decode())
            break
        if header[0] == 0: break
print('version', '%d.%d.%d' % sys.version_info[:3])
print('executable', executable)
for folder in sorted(folders): print('folder', os.path.realpath(folder))
)";

bool is_inside(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

void add_folder(std::vector<std::string>& folders, const std::string& folder) {
  if (folder == "/" || folder == "/home" || folder == "/root") {
    throw drift::Error("the Python interpreter has a library in " + folder + ", which untrusted programs must not see",
                       "set another interpreter: `python` of the reward");
  }
  for (const auto& known : folders) {
    if (folder == known || is_inside(folder, known)) return;
  }
  std::erase_if(folders, [&](const std::string& known) { return is_inside(known, folder); });
  folders.push_back(folder);
}

std::string locate(const std::string& python) {
  constexpr const char* kSystemPython = "/usr/bin/python3";
  if (python.empty() && ::access(kSystemPython, X_OK) == 0) return kSystemPython;
  const std::string name = python.empty() ? "python3" : python;
  const std::string path = name.find('/') == std::string::npos ? drift::find_program(name) : name;
  if (path.empty() || ::access(path.c_str(), X_OK) != 0) {
    throw drift::Error("there is no Python interpreter `" + name + "`",
                       "install Debian's package python3, or set an interpreter: `python` of the reward");
  }
  return path;
}

}  // namespace

Interpreter find_interpreter(const std::string& python, const std::vector<std::string>& packages) {
  const std::string path = locate(python);
  Interpreter found;
  std::vector<std::string> arguments = {path, "-I", "-B", "-c", kDescribe};
  arguments.insert(arguments.end(), packages.begin(), packages.end());
  std::istringstream lines(drift::output_of({.arguments = arguments, .environment = drift::kPlainEnvironment}));
  for (std::string key, value; lines >> key && std::getline(lines >> std::ws, value);) {
    if (key == "version") found.version = value;
    if (key == "executable") found.executable = value;
    if (key == "folder") add_folder(found.read, value);
    if (key == "packages") found.packages += (found.packages.empty() ? "" : ":") + value;
    if (key == "missing") {
      throw drift::Error(path + " has no package `" + value + "`, which `packages` of the reward names",
                         "install it for that interpreter, as by Debian's package python3-" + value +
                             ", or set `python` of the reward to one that has it");
    }
  }
  int major = 0, minor = 0;
  char dot = 0;
  std::istringstream(found.version) >> major >> dot >> minor;
  if (major != 3 || minor < 11 || found.executable.empty()) {
    throw drift::Error(path + " is Python " + (found.version.empty() ? "of an unknown version" : found.version),
                       "set `python` of the reward to 3.11 or later");
  }
  bool shown = false;
  for (const auto& folder : found.read) shown |= is_inside(found.executable, folder);
  if (!shown) found.read.push_back(found.executable);
  for (const char* name : {"/lib", "/lib32", "/lib64"}) {
    std::error_code ignored;
    const fs::path target = fs::read_symlink(name, ignored);
    if (!target.empty()) found.links.emplace_back(name, target.string());
  }
  return found;
}

}  // namespace drift::code
