// One process at a time works in a folder, and who that is can be told on any machine that shares it.

#include <core/io/folder_lock.h>

#include <drift/error.h>
#include <tests/support/child.h>
#include <tests/support/support.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace drift::folder_lock_test {

using test::error_of;
using test::in_child;
using test::TemporaryFolder;
using test::write_file;
using namespace testing;

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size());
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

std::string taken_by_another(const std::filesystem::path& folder) {
  return in_child([&] {
    const FolderLock lock(folder, "another sweep");
    return std::string();
  });
}

TEST(AFolderLock, IsOfOneProcessAndNamesItWithItsHost) {
  const TemporaryFolder folder;
  const FolderLock lock(folder.path() / "new", "another sweep");
  EXPECT_THAT(taken_by_another(folder.path() / "new"),
              AllOf(HasSubstr("new is in use by another sweep: " + this_process())));
  EXPECT_EQ(in_child([&] { return FolderLock::holder(folder.path() / "new").value_or("nobody"); }), this_process());
}

TEST(AFolderLock, GoesWithItsObject) {
  const TemporaryFolder folder;
  EXPECT_FALSE(FolderLock::holder(folder.path()));
  { const FolderLock lock(folder.path(), "another sweep"); }
  EXPECT_FALSE(FolderLock::holder(folder.path()));
  EXPECT_EQ(taken_by_another(folder.path()), "");
}

TEST(AFolderLock, GoesWithItsProcessHoweverThatEnds) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder.path(), "another sweep");
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(FolderLock::holder(folder.path()).value_or("nobody"), HasSubstr("process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(FolderLock::holder(folder.path()));
  ::close(ready[0]);
  ::close(ready[1]);
}

// Locks that belong to the process, as of plain F_SETLK, are dropped when any descriptor of the file is closed.
TEST(AFolderLock, OutlivesOtherDescriptorsOfItsFile) {
  const TemporaryFolder folder;
  const FolderLock lock(folder.path(), "another sweep");
  ::close(::open((folder.path() / ".lock").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(FolderLock::holder(folder.path()).value_or("nobody"), this_process());
  EXPECT_THAT(taken_by_another(folder.path()), HasSubstr("is in use by"));
}

TEST(AFolderLock, IsTakenByNobodyWhoAsksForItsHolder) {
  const TemporaryFolder folder;
  test::write_file(folder.path() / ".lock", "");
  EXPECT_FALSE(FolderLock::holder(folder.path()));
  EXPECT_EQ(test::read_file(folder.path() / ".lock"), "");
}

TEST(AFolderLock, DoesNotWaitForAPipeInItsPlace) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / ".lock").c_str(), 0600), 0);
  EXPECT_FALSE(FolderLock::holder(folder.path()));
}

TEST(AFolderLock, OfOneThingInAFolderLeavesTheOthersFree) {
  const TemporaryFolder folder;
  const FolderLock lock(folder.path(), "another evaluation", ".a.lock");
  EXPECT_TRUE(FolderLock::holder(folder.path(), ".a.lock"));
  EXPECT_FALSE(FolderLock::holder(folder.path(), ".b.lock"));
  EXPECT_EQ(taken_by_another(folder.path()), "");
}

// What a file server does when it has not heard of a machine for a while.
TEST(AFolderLock, TellsThatItWentToAnotherWhoseNameItHolds) {
  const TemporaryFolder folder;
  const FolderLock lock(folder.path(), "another run");
  lock.require_held();
  write_file(folder.path() / ".lock", "");
  lock.require_held();  // without its owner's name
  write_file(folder.path() / ".lock", "process 12 on node7");
  EXPECT_THAT(error_of([&] { lock.require_held(); }),
              AllOf(HasSubstr("the lock of " + folder.path().string() + " went to process 12 on node7"),
                    HasSubstr("cut off from the file server")));
}

TEST(AFolderLock, MovesWithItsObject) {
  const TemporaryFolder folder;
  std::optional<FolderLock> kept;
  {
    FolderLock lock(folder.path(), "another sweep");
    kept.emplace(std::move(lock));
  }
  EXPECT_THAT(taken_by_another(folder.path()), HasSubstr("is in use by"));
}

}  // namespace drift::folder_lock_test
