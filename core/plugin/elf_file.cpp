#include <core/plugin/elf_file.h>

#include <drift/error.h>

#include <elf.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace drift {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#endif
constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i386";
    case EM_ARM: return "arm";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
  }
  return "machine number " + std::to_string(machine);
}

class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path) : path_(path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      throw Error("no plugin file at " + path.string(), "give the path of a shared library (*.so)");
    }
    size_ = std::filesystem::file_size(path, error);
    stream_.open(path, std::ios::binary);
    if (!stream_ || error)
      throw Error("cannot read " + path.string() + ": " + std::strerror(errno), "check its permissions");
    read_header();
    check_segments();
  }

  std::string section(const std::string& name) {
    if (header_.e_shoff == 0 || header_.e_shnum == 0) return {};
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) damaged("its section table has entries of an unknown size");
    const auto sections = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, "section table");
    if (header_.e_shstrndx >= sections.size()) damaged("its section names are missing");
    const auto& names_header = sections[header_.e_shstrndx];
    const std::string names = bytes(names_header.sh_offset, names_header.sh_size, "section names");
    for (const Elf64_Shdr& entry : sections) {
      if (entry.sh_name >= names.size() || names.c_str() + entry.sh_name != name) continue;
      if (entry.sh_type != SHT_PROGBITS) damaged("its section " + name + " holds no data");
      return bytes(entry.sh_offset, entry.sh_size, "section " + name);
    }
    return {};
  }

 private:
  std::string name() const { return "`" + path_.filename().string() + "`"; }
  std::string place() const { return "\n  --> " + path_.string(); }
  [[noreturn]] void damaged(const std::string& why) const {
    throw Error("plugin file " + name() + " is damaged: " + why + place(), "build it or copy it again");
  }
  [[noreturn]] void not_a_plugin(const std::string& why) const {
    throw Error(name() + " is not a plugin: " + why + place(),
                "a plugin is a shared library made by drift_add_plugin()");
  }
  [[noreturn]] void other_machine(const std::string& which) const {
    throw Error("plugin file " + name() + " was built for another machine: it is for " + which +
                    ", this host is 64-bit " + machine_name(kMachine) + place(),
                "build it on this machine");
  }

  void read_header() {
    if (size_ < SELFMAG) not_a_plugin("the file has only " + std::to_string(size_) + " bytes");
    const std::string magic = bytes(0, SELFMAG, "header");
    if (magic != ELFMAG) not_a_plugin("the file is not a shared library (ELF)");
    const std::string identity = bytes(0, EI_NIDENT, "header");
    if (identity[EI_CLASS] == ELFCLASS32) other_machine("a 32-bit machine");
    if (identity[EI_CLASS] != ELFCLASS64) damaged("its header names neither 32 nor 64 bits");
    if (static_cast<unsigned char>(identity[EI_DATA]) != kByteOrder) other_machine("the other byte order");
    const std::string raw = bytes(0, sizeof(header_), "header");
    std::memcpy(&header_, raw.data(), sizeof(header_));
    if (header_.e_machine != kMachine) other_machine("64-bit " + machine_name(header_.e_machine));
    if (header_.e_type != ET_DYN) not_a_plugin("the file is an ELF file, but not a shared library");
  }

  /// The system's loader maps segments without looking at the file's length, and a missing page is then a fatal signal.
  void check_segments() {
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) damaged("its segment table has entries of an unknown size");
    for (const auto& segment : table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, "segment table")) {
      if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
      check_range(segment.p_offset, segment.p_filesz, "a segment");
    }
  }

  void check_range(std::uint64_t offset, std::uint64_t length, const std::string& what) const {
    if (offset > size_ || length > size_ - offset) {
      damaged(what + " should end at byte " + std::to_string(offset + length) + ", but the file has " +
              std::to_string(size_));
    }
  }

  std::string bytes(std::uint64_t offset, std::uint64_t length, const std::string& what) {
    check_range(offset, length, "its " + what);
    std::string result(length, '\0');
    stream_.seekg(static_cast<std::streamoff>(offset));
    if (!stream_.read(result.data(), static_cast<std::streamsize>(length))) damaged("its " + what + " cannot be read");
    return result;
  }

  template <class Entry>
  std::vector<Entry> table(std::uint64_t offset, std::size_t count, const std::string& what) {
    const std::string raw = bytes(offset, count * sizeof(Entry), what);
    std::vector<Entry> result(count);
    if (count > 0) std::memcpy(result.data(), raw.data(), raw.size());
    return result;
  }

  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
  Elf64_Ehdr header_{};
};

}  // namespace

std::string read_section(const std::filesystem::path& file, const std::string& section) {
  return ElfFile(file).section(section);
}

}  // namespace drift
