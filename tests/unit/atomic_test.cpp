#include <core/io/atomic.h>

#include <drift/error.h>
#include <tests/support/child.h>
#include <tests/support/support.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace drift::atomic_test {

using namespace testing;

namespace fs = std::filesystem;
using test::error_of;
using test::in_child;
using test::limit_file_size;
using test::names_in;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

class Atomic : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  TemporaryFolder folder_;
};

TEST_F(Atomic, AFileIsReplacedAtomically) {
  write_file_atomically(path("file"), "old");
  {
    AtomicFile fresh(path("file"));
    fresh.write("new", 3);
    EXPECT_EQ(read_file(path("file")), "old");
    fresh.commit();
  }
  EXPECT_EQ(read_file(path("file")), "new");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file"));
}

TEST_F(Atomic, AFileThatIsNotCommittedLeavesNothing) {
  write_file_atomically(path("file"), "old");
  {
    AtomicFile fresh(path("file"));
    fresh.write("new", 3);
  }
  EXPECT_EQ(read_file(path("file")), "old");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file"));
}

TEST_F(Atomic, AFolderAppearsWhenItIsPublished) {
  {
    AtomicFolder fresh(path("deep/down/folder"));
    write_file(fresh.path() / "a", "1");
    write_file(fresh.path() / "sub" / "b", "2");
    EXPECT_FALSE(fs::exists(path("deep/down/folder")));
    fresh.publish();
  }
  EXPECT_EQ(read_file(path("deep/down/folder/sub/b")), "2");
  EXPECT_THAT(names_in(path("deep/down")), ElementsAre("folder"));
}

TEST_F(Atomic, AFolderThatIsNotPublishedLeavesNothing) {
  {
    AtomicFolder fresh(path("folder/"));
    write_file(fresh.path() / "a", "1");
  }
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

TEST_F(Atomic, AFullFolderIsRefusedOrExchanged) {
  write_file(path("folder/old"), "1");
  EXPECT_THAT(error_of([&] { AtomicFolder fresh(path("folder")); }), HasSubstr("exists and is not empty"));
  AtomicFolder fresh(path("folder"), AtomicFolder::Existing::kReplace);
  write_file(fresh.path() / "new", "2");
  fresh.publish();
  EXPECT_THAT(names_in(path("folder")), ElementsAre("new"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("folder"));
}

TEST_F(Atomic, ASymlinkMovesFromOneTargetToTheNext) {
  replace_symlink_atomically(path("last"), "one");
  replace_symlink_atomically(path("last"), "two");
  EXPECT_EQ(fs::read_symlink(path("last")), "two");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("last"));
  write_file(path("folder/file"), "x");
  EXPECT_THAT(error_of([&] { replace_symlink_atomically(path("folder"), "one"); }), HasSubstr("Is a directory"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("folder", "last"));
}

TEST_F(Atomic, LeftoversOfKilledProcessesAreSweptAndNothingElse) {
  write_file(path(".model.tmp-123"), "half");
  write_file(path(".step-000010.tmp-45/file"), "half");
  write_file(path(".step-000010.removed.tmp-45/file"), "half");
  for (const char* name : {".hidden", ".x.tmp-", ".x.tmp-12a", "x.tmp-12", "file"}) write_file(path(name), "mine");
  sweep_leftovers(folder_.path());
  EXPECT_THAT(names_in(folder_.path()), ElementsAre(".hidden", ".x.tmp-", ".x.tmp-12a", "file", "x.tmp-12"));
}

TEST_F(Atomic, WrongPathsSayWhatIsWrong) {
  write_file(path("file"), "old");
  EXPECT_THAT(error_of([&] { write_file_atomically(path("none/file"), ""); }),
              AllOf(HasSubstr("none/file: No such file"), HasSubstr("check the path")));
  EXPECT_THAT(error_of([&] { write_file_atomically(path("file/inside"), ""); }),
              HasSubstr("a part of this path is a file"));
  EXPECT_THAT(error_of([&] { AtomicFolder folder(path("file/inside")); }), HasSubstr("Not a directory"));
  EXPECT_THAT(error_of([&] { AtomicFolder folder(path("file")); }), HasSubstr("exists"));
  fs::create_directories(path("folder/full"));
  EXPECT_THAT(error_of([&] { write_file_atomically(path("folder"), ""); }), HasSubstr("folder where a file is needed"));
  EXPECT_THAT(error_of([&] { read_whole_file(path("none")); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { read_whole_file(path("folder")); }), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of([&] { read_whole_file(path("file"), 2); }), HasSubstr("larger than 2 bytes"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file", "folder"));
  EXPECT_EQ(read_file(path("file")), "old");
}

TEST_F(Atomic, AWriteThatFailsAfterAnyNumberOfBytesLeavesTheOldFile) {
  write_file_atomically(path("file"), "old");
  const std::string content(1000, 'x');
  for (const rlim_t limit : {0, 1, 2, 500, 998, 999}) {
    const std::string error = in_child([&] {
      limit_file_size(limit);
      return error_of([&] { write_file_atomically(path("file"), content); });
    });
    EXPECT_THAT(error, AllOf(HasSubstr(path("file").string()), HasSubstr("File too large"), HasSubstr("ulimit -f")))
        << limit;
    EXPECT_EQ(read_file(path("file")), "old");
    EXPECT_THAT(names_in(folder_.path()), ElementsAre("file"));
  }
}

TEST_F(Atomic, AFolderWithoutPermissionSaysSo) {
  fs::permissions(folder_.path(), fs::perms(0755));
  write_file(path("folder/file"), "old");
  ASSERT_EQ(::chmod(path("folder").c_str(), 0555), 0);
  const std::string error = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return std::string("cannot change user");  // root may do everything
    return error_of([&] { write_file_atomically(path("folder/file"), "new"); }) +
           error_of([&] { AtomicFolder folder(path("folder/sub")); });
  });
  ASSERT_EQ(::chmod(path("folder").c_str(), 0755), 0);
  EXPECT_THAT(error, AllOf(HasSubstr("cannot write " + path("folder/file").string() + ": Permission denied"),
                           HasSubstr("cannot create " + path("folder/sub").string() + ": Permission denied"),
                           HasSubstr("choose another folder")));
  EXPECT_EQ(read_file(path("folder/file")), "old");
  EXPECT_THAT(names_in(path("folder")), ElementsAre("file"));
}

// A file system of 64 kB in a private mount namespace: only root may have one.
std::string mount_small_disk(const fs::path& folder) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("small", folder.c_str(), "tmpfs", 0, "size=64k") != 0) {
    return "no permission to mount";
  }
  return "";
}

TEST_F(Atomic, AFullDiskIsNamedWithItsFreeSpaceAndLeavesTheOldFile) {
  const std::string outcome = in_child([&] {
    std::string report = mount_small_disk(folder_.path());
    if (!report.empty()) return report;
    write_file_atomically(path("file"), "old");
    report = error_of([&] { write_file_atomically(path("file"), std::string(100'000, 'x')); });
    return report + " | " + read_file(path("file")) + " | " + std::to_string(names_in(folder_.path()).size());
  });
  if (outcome == "no permission to mount") GTEST_SKIP() << "mounting a small disk needs root";
  EXPECT_THAT(outcome, AllOf(HasSubstr(path("file").string() + ": No space left on device ("), HasSubstr(" free)"),
                             HasSubstr("free some space"), HasSubstr(" | old | 1")));
}

TEST_F(Atomic, AReadOnlyDiskIsNamed) {
  const std::string outcome = in_child([&] {
    std::string report = mount_small_disk(folder_.path());
    if (!report.empty()) return report;
    if (::mount("small", folder_.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return std::string("no remount");
    return error_of([&] { write_file_atomically(path("file"), "x"); });
  });
  if (outcome == "no permission to mount") GTEST_SKIP() << "mounting a small disk needs root";
  EXPECT_THAT(outcome, AllOf(HasSubstr("Read-only file system"), HasSubstr("mounted read-only")));
}

// On NFS a file that a process has open stays in its folder; here a mounted disk does.
TEST_F(Atomic, WhatIsStillOpenIsLeftForTheNextSweep) {
  const std::string outcome = in_child([&] {
    fs::create_directories(path("runs/old/open"));
    std::string report = mount_small_disk(path("runs/old/open"));
    if (!report.empty()) return report;
    report = error_of([&] { remove_folder_atomically(path("runs/old")); });
    report += error_of([&] { sweep_leftovers(path("runs")); });
    return report + std::to_string(fs::exists(path("runs/old"))) + std::to_string(names_in(path("runs")).size());
  });
  if (outcome == "no permission to mount") GTEST_SKIP() << "mounting a small disk needs root";
  EXPECT_EQ(outcome, "01");
  sweep_leftovers(path("runs"));
  EXPECT_THAT(names_in(path("runs")), IsEmpty());
}

}  // namespace drift::atomic_test
