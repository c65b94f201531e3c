#include "tests/support/slurm_cluster.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace drift::test {
namespace {

namespace fs = std::filesystem;

constexpr std::array kPrograms = {"munged",  "slurmctld", "slurmd", "sbatch", "squeue",
                                  "scancel", "scontrol",  "sinfo",  "setpriv"};

std::string program_named(const std::string& name) {
  const std::string file = find_program(name);
  if (!file.empty()) return file;
  const fs::path system = "/usr/sbin/" + name;  // not on everybody's PATH
  return fs::exists(system) ? system.string() : "";
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const std::string full = name.data();
  return full.substr(0, full.find('.'));
}

/// Ports that nobody listens on now.
template <std::size_t N>
std::array<int, N> free_ports() {
  std::array<int, N> ports{}, sockets{};
  for (std::size_t i = 0; i < N; ++i) {
    sockets[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(sockets[i], reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no free port");
    ports[i] = ntohs(address.sin_port);
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

template <class Condition>
bool wait_for(const Condition& condition, std::chrono::seconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace

std::string SlurmCluster::missing() {
  if (::geteuid() != 0) return "Slurm's daemons need root";
  for (const char* name : kPrograms) {
    if (program_named(name).empty())
      return std::string(name) + " is missing: apt-get install slurmctld slurmd slurm-client munge";
  }
  return "";
}

std::unique_ptr<SlurmCluster> SlurmCluster::if_possible(std::string& missing) {
  missing = SlurmCluster::missing();
  if (!missing.empty()) return nullptr;
  try {
    return std::make_unique<SlurmCluster>();
  } catch (const std::runtime_error& error) {  // a container may forbid what the daemons need
    missing = error.what();
    return nullptr;
  }
}

SlurmCluster::SlurmCluster() {
  write_configuration();
  const auto at = [&](const char* name) { return (folder_.path() / name).string(); };
  start({"munged", "--foreground", "--force", "--key-file=" + at("munge.key"), "--socket=" + at("munge.socket"),
         "--pid-file=" + at("munged.pid"), "--log-file=" + at("munged.log"), "--seed-file=" + at("munged.seed")});
  if (!wait_for([&] { return fs::exists(at("munge.socket")); }, std::chrono::seconds(60)))
    throw std::runtime_error("munged does not start\n" + logs());
  start({"slurmctld", "-D", "-f", at("slurm.conf")});
  start({"slurmd", "-D", "-f", at("slurm.conf")});
  if (!wait_for([&] { return takes_jobs(); }, std::chrono::seconds(60)))
    throw std::runtime_error("the node takes no jobs\n" + logs());
}

SlurmCluster::~SlurmCluster() {
  // The shell of a job is no child of slurmd: it would go on without it.
  run("scancel --user=root");
  wait_for([&] { return run("squeue --noheader").empty(); }, std::chrono::seconds(30));
  while (!daemons_.empty()) daemons_.pop_back();  // the last one first
}

void SlurmCluster::write_configuration() const {
  const std::string folder = folder_.path().string(), host = host_name();
  const auto [controller, node] = free_ports<2>();
  fs::permissions(folder, fs::perms(0755));  // munged wants its socket to be in reach of all
  std::string key;
  for (int i = 0; i < 1024; ++i) key += static_cast<char>('a' + i % 26);  // guards nothing: a socket of this test
  write_file(folder + "/munge.key", key);
  fs::permissions(folder + "/munge.key", fs::perms(0400));
  for (const char* name : {"state", "spool"}) fs::create_directory(folder + "/" + name);
  write_file(folder + "/slurm.conf",
             "ClusterName=test\nSlurmctldHost=" + host + "(127.0.0.1)\nSlurmctldPort=" + std::to_string(controller) +
                 "\nSlurmdPort=" + std::to_string(node) + "\nAuthType=auth/munge\nAuthInfo=socket=" + folder +
                 "/munge.socket\nSlurmUser=root\nSlurmdUser=root\nStateSaveLocation=" + folder +
                 "/state\nSlurmdSpoolDir=" + folder + "/spool\nSlurmctldPidFile=" + folder +
                 "/slurmctld.pid\nSlurmdPidFile=" + folder + "/slurmd.pid\nSlurmctldLogFile=" + folder +
                 "/slurmctld.log\nSlurmdLogFile=" + folder + R"(/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
KillWait=10
SchedulerParameters=batch_sched_delay=0
NodeName=)" + host +
                 " NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000\nPartitionName=tests Nodes=" + host +
                 " Default=YES MaxTime=INFINITE State=UP\n");
}

void SlurmCluster::start(const std::vector<std::string>& command) {
  std::vector<std::string> words = {program_named("setpriv"), "--pdeathsig", "TERM"};
  words.insert(words.end(), command.begin(), command.end());
  words[3] = program_named(command.front());
  daemons_.emplace_back(
      ChildCommand{.arguments = words, .environment = environment_with({environment_}), .end_signal = SIGTERM});
}

bool SlurmCluster::takes_jobs() const { return run("sinfo --noheader --format=%t") == "idle\n"; }

std::string SlurmCluster::run(const std::string& command) const {
  return run_command(environment_ + " " + command + " 2>&1").output;
}

std::string SlurmCluster::logs() const {
  std::string text;
  for (const char* name : {"munged.log", "slurmctld.log", "slurmd.log"}) {
    if (fs::exists(folder_.path() / name)) text += std::string(name) + ":\n" + read_file(folder_.path() / name);
  }
  return text;
}

}  // namespace drift::test
