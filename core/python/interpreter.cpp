#include "interpreter.h"

#include "object.h"

#include <drift/abi.h>
#include <drift/error.h>

#include <core/base/child_process.h>

#include <ATen/ops/sum.h>
#include <dlfcn.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string>

namespace drift::python {
namespace {

namespace fs = std::filesystem;

/// Where the interpreter is, its version, and its shared library: a line each; the last is empty if it has none.
constexpr const char* kDescribe = R"(
import os, sys, sysconfig
value = sysconfig.get_config_var
print(sys.executable)
print('%d.%d.%d' % sys.version_info[:3] + ('t' if value('Py_GIL_DISABLED') else ''))
folders = [value('LIBDIR'), os.path.join(value('LIBDIR') or '', value('MULTIARCH') or ''), value('LIBPL'),
           os.path.join(sys.base_prefix, 'lib')]
names = [value('INSTSONAME'), value('LDLIBRARY'), 'libpython%d.%d.so.1.0' % sys.version_info[:2]]
found = [os.path.join(folder, name) for folder in folders if folder for name in names if name and '.so' in name]
print(next((file for file in found if os.path.exists(file)), ''))
)";

constexpr const char* kRemedy =
    "install python3 and its shared library (Debian: apt-get install libpython3-dev), or name "
    "another: DRIFT_PYTHON=/path/to/python3";

struct Installation {
  std::string executable, version, library;
};

std::string chosen_program() {
  for (const auto& [variable, program] : {std::pair{"DRIFT_PYTHON", ""}, std::pair{"VIRTUAL_ENV", "bin/python3"}}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string file = *program == '\0' ? value : (fs::path(value) / program).string();
    if (!fs::exists(file)) throw Error(std::string(variable) + " is " + value + ", and there is no " + file, kRemedy);
    return file;
  }
  const std::string found = find_program("python3");
  if (found.empty()) throw Error("there is no Python: PATH has no python3", kRemedy);
  return found;
}

Installation find_python() {
  const std::string program = chosen_program();
  const CommandOutput said = run({.arguments = {program, "-c", kDescribe}});
  std::istringstream lines(said.output);
  Installation found;
  std::getline(lines, found.executable);
  std::getline(lines, found.version);
  std::getline(lines, found.library);
  if (said.end.status() != 0 || found.version.empty())
    throw Error(program + " is not a Python that works" + (said.error.empty() ? "" : ": " + said.error), kRemedy);
  const std::string name = "Python " + found.version + " of " + program;
  int major = 0, minor = 0;
  char point = 0;
  std::istringstream(found.version) >> major >> point >> minor;
  if (major != 3 || minor < 9 || found.version.ends_with("t"))
    throw Error(name + " cannot be used: CPython 3.9 or later is needed, not free-threaded", kRemedy);
  if (found.library.empty())
    throw Error(name + " has no shared library libpython3." + std::to_string(minor) + ".so", kRemedy);
  return found;
}

/// share/drift/sdk/python beside lib/drift/plugins, where this plugin lies, in the tree's build folder and installed.
fs::path module_folder() {
  Dl_info own{};
  ::dladdr(reinterpret_cast<void*>(&start_interpreter), &own);
  const fs::path folder = fs::weakly_canonical(own.dli_fname).parent_path();
  for (fs::path prefix = folder; prefix.has_relative_path(); prefix = prefix.parent_path()) {
    const fs::path modules = prefix / "share/drift/sdk/python";
    if (fs::exists(modules / "drift/_host.py")) return modules;
  }
  throw Error("the Python modules of Drift are missing: no share/drift/sdk/python above " + folder.string(),
              "install or build Drift again");
}

/// The file of the LibTorch in this process.
std::string loaded_libtorch() {
  Dl_info where{};
  ::dladdr(reinterpret_cast<void*>(&at::_ops::sum::call), &where);
  return where.dli_fname;
}

/// Ctrl-C is the program's. Left to itself, Python would take it when its module `signal` is first imported (torch
/// does), and raise KeyboardInterrupt in whatever runs.
void leave_interrupts_to_the_program() {
  struct sigaction ours {};
  ::sigaction(SIGINT, nullptr, &ours);
  const Object module = Object::made(api.PyImport_ImportModule("_signal"));
  const Object arguments = tuple({integer(SIGINT), module.attribute("SIG_DFL")});
  Object::made(api.PyObject_CallObject(module.attribute("signal").get(), arguments.get()));
  ::sigaction(SIGINT, &ours, nullptr);
}

/// Whether Drift is in a process of Python's, through the package drift_rl.
bool is_in_python() {
  const auto is_initialized = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  return is_initialized != nullptr && is_initialized() != 0;
}

void run_python() {
  const Installation python = find_python();
  load_c_api(python.library);
  static const std::wstring program = fs::path(python.executable).wstring();
  api.Py_SetProgramName(program.c_str());  // from which it finds its modules, also in a virtual environment
  api.Py_InitializeEx(/*with signal handlers=*/0);
  leave_interrupts_to_the_program();
  api.PyEval_SaveThread();
}

void prepare_modules(const char* function) {
  const std::string modules = module_folder().string();
  const int lock = api.PyGILState_Ensure();
  try {
    PyObject* path = api.PySys_GetObject("path");
    const Object folder = text(modules);
    if (path == nullptr || api.PyList_Insert(path, 0, folder.get()) != 0) throw_raised();
    call(function, {text(loaded_libtorch()), text(TORCH_VERSION)});
  } catch (...) {
    api.PyGILState_Release(lock);
    throw;
  }
  api.PyGILState_Release(lock);
}

}  // namespace

void start_interpreter() {
  static std::mutex starting;
  static bool runs = false;
  static const bool attached = is_in_python();
  static std::atomic<bool> is_ready = false;
  if (is_ready) return;
  const std::lock_guard lock(starting);
  if (!runs && attached) load_c_api({});
  if (!runs && !attached) run_python();
  runs = true;
  if (!is_ready) prepare_modules(attached ? "attach" : "start");
  is_ready = true;
}

}  // namespace drift::python
