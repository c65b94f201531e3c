#include <core/report/full_screen.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <string_view>
#include <utility>

namespace drift {
namespace {

// Another page, no cursor, no wrapping; and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr std::string_view kLeave = "\033[?7h\033[?25h\033[?1049l";

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kCrashing = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// For signal handlers, which may come at any time.
termios g_before;
bool g_has_input = false;
volatile std::sig_atomic_t g_is_full = 0, g_ending = 0, g_stale = 0;
std::array<int, 2> g_wake = {-1, -1};
std::array<struct sigaction, NSIG> g_earlier;

void put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void enter_full_screen() {
  if (g_has_input) {
    termios keys = g_before;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  put(kEnter);
  g_is_full = 1;
}

void leave_full_screen() {
  if (g_is_full == 0) return;
  g_is_full = 0;
  put(kLeave);
  if (g_has_input) ::tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
}

void wake() {
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(g_wake[1], &byte, 1);
}

void on_ending(int number) {
  if (g_ending != 0) {  // whatever it waits for
    leave_full_screen();
    ::_exit(128 + number);
  }
  g_ending = number;
  wake();
}

void on_resize(int) {
  const int error_number = errno;
  g_stale = 1;
  wake();
  errno = error_number;
}

void on_suspend(int) {
  const int error_number = errno;
  leave_full_screen();
  ::raise(SIGSTOP);
  enter_full_screen();
  g_stale = 1;
  wake();
  errno = error_number;
}

void on_crash(int number) {
  leave_full_screen();
  ::sigaction(number, &g_earlier[static_cast<std::size_t>(number)], nullptr);
  ::raise(number);
}

void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(number, &action, &g_earlier[static_cast<std::size_t>(number)]);
}

void restore(int number) { ::sigaction(number, &g_earlier[static_cast<std::size_t>(number)], nullptr); }

Key key_in(std::string_view bytes) {
  static constexpr std::pair<std::string_view, Key> kKeys[] = {
      {"\033[A", Key::kUp},    {"\033OA", Key::kUp}, {"k", Key::kUp},        {"\033[B", Key::kDown},
      {"\033OB", Key::kDown},  {"j", Key::kDown},    {"\t", Key::kDown},     {"\033[C", Key::kRight},
      {"\033OC", Key::kRight}, {"l", Key::kRight},   {"\033[D", Key::kLeft}, {"\033OD", Key::kLeft},
      {"h", Key::kLeft},       {"m", Key::kMetric},  {"q", Key::kQuit},      {"Q", Key::kQuit}};
  for (const auto& [name, key] : kKeys) {
    if (bytes.starts_with(name)) return key;
  }
  return Key::kNone;
}

}  // namespace

FullScreen::FullScreen() {
  g_ending = 0;
  g_stale = 0;
  g_has_input = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &g_before) == 0;
  if (::pipe2(g_wake.data(), O_CLOEXEC | O_NONBLOCK) != 0) g_wake = {-1, -1};
  for (const int number : kEnding) handle(number, on_ending, 0);
  for (const int number : kCrashing) handle(number, on_crash, SA_ONSTACK | SA_NODEFER);
  handle(SIGWINCH, on_resize, 0);
  handle(SIGTSTP, on_suspend, 0);
  enter_full_screen();
}

FullScreen::~FullScreen() {
  leave_full_screen();
  for (const int number : kEnding) restore(number);
  for (const int number : kCrashing) restore(number);
  restore(SIGWINCH);
  restore(SIGTSTP);
  for (const int end : g_wake) ::close(end);
}

ScreenSize FullScreen::size() const {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) return {};
  return {found.ws_col, found.ws_row};
}

void FullScreen::draw(const std::vector<std::string>& lines) {
  std::string page = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) page += (i == 0 ? "" : "\r\n") + lines[i] + "\033[K";
  page += "\033[J";
  if (g_stale != 0) drawn_.clear();
  g_stale = 0;
  if (page == drawn_) return;
  put(page);
  drawn_ = page;
}

Key FullScreen::wait(double seconds) {
  std::array<pollfd, 2> ends = {{{g_wake[0], POLLIN, 0}, {g_has_input ? STDIN_FILENO : -1, POLLIN, 0}}};
  if (g_ending != 0 || g_stale != 0) return Key::kNone;
  if (::poll(ends.data(), ends.size(), static_cast<int>(std::lround(1000 * seconds))) <= 0) return Key::kNone;
  std::array<char, 64> bytes{};
  if (ends[0].revents != 0) {
    while (::read(g_wake[0], bytes.data(), bytes.size()) > 0) {
    }
  }
  if (ends[1].revents == 0) return Key::kNone;
  const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got < 0 && errno == EINTR) return Key::kNone;
  if (got <= 0) return Key::kQuit;  // the terminal is gone
  return key_in({bytes.data(), static_cast<std::size_t>(got)});
}

int FullScreen::signal() const { return g_ending; }

}  // namespace drift
