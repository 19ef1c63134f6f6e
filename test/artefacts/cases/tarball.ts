import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { firstAnswer } from "../first-answer.js";
import { keep, run } from "../run.js";
import { packageJson } from "../stage-tree.js";
import { packTarball, treeName } from "../tarball.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-tarball-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const file = await packTarball(folder);
keep(file);

t.test("unpacked anywhere it runs with its own Node, also through a link", async (t) => {
  const elsewhere = join(folder, "a place with spaces");
  mkdirSync(join(elsewhere, "bin"), { recursive: true });
  run("tar", ["-xJf", file, "-C", elsewhere]);
  const link = join(elsewhere, "bin/sluice");
  run("ln", ["-s", join(elsewhere, treeName, "bin/sluice"), link]);
  // A shell's own programs are there; a Node isn't.
  const path = join(elsewhere, "path");
  mkdirSync(path);
  for (const program of ["sh", "dirname", "readlink"])
    run("ln", ["-s", run("which", [program]).trim(), join(path, program)]);
  t.equal(run(link, ["--version"], { env: { PATH: path } }).trim(), packageJson.version);
  const got = await firstAnswer({ program: link, cwd: elsewhere, path });
  t.match(got, { status: 200, body: /simulator/, dashboardStatus: 200, exitCode: 0 });
});

t.test("all files belong to root, and no other user may write there", (t) => {
  const lines = run("tar", ["-tvJf", file, "--numeric-owner"]).trim().split("\n");
  t.same(
    lines.filter((line) => !/^[-dl]\S+ 0\/0 /.test(line) || /^[-d].{4}w|^[-d].{7}w/.test(line)),
    [],
  );
  t.end();
});
