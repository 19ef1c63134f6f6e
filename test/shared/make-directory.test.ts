import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { makeDirectory } from "../../shared/make-directory.js";

t.test("a directory is made with its parents; the first new one is returned", async (t) => {
  const above = t.testdir({ "a file": "" });
  t.equal(makeDirectory(join(above, "a", "b", "c"), 0o750), join(above, "a"));
  for (const made of ["a", "a/b", "a/b/c"])
    t.equal((statSync(join(above, made)).mode & 0o777).toString(8), "750");
  t.equal(makeDirectory(join(above, "a", "b"), 0o700), undefined);
  t.equal(makeDirectory("/", 0o700), undefined);
  for (const path of ["a file", "a file/below", "a file/b/c"])
    t.throws(() => makeDirectory(join(above, path), 0o700), { code: /^(EEXIST|ENOTDIR)$/ });
});

t.test("where the system makes none, it ends with a word", async (t) => {
  for (const path of ["/proc/sluice", "/proc/sluice/a", "/proc/sluice/a/b/c"])
    t.throws(() => makeDirectory(path, 0o700), { message: "/proc takes no directories" });
  t.notOk(existsSync("/proc/sluice"));
});
