/** Whose rights root takes: real directories. What comes of it, with a real restore. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import t, { type Test } from "tap";
import {
  becomeOwnerOf,
  OpenDirectoryError,
  openAsOwner,
  type Privileges,
} from "../../../limiterd/maintenance/as-owner.js";
import { programPath } from "../../support/processes/program-path.js";

const recorded = new URL(
  "../../../../test/support/store-fixtures/schema-1.mdb.gz",
  import.meta.url,
);
const nobody = 65_534;
const notRoot = process.getuid?.() === 0 ? false : "only root has rights to give up";

/** Root's, that notes what is asked of it. */
function noted(uid = 0): Privileges & { readonly calls: unknown[] } {
  const calls: unknown[] = [];
  const note =
    (name: string) =>
    (id: unknown): void =>
      void calls.push([name, id]);
  const [setgroups, setgid, setuid, seteuid] = ["groups", "gid", "uid", "euid"].map(note);
  return {
    calls,
    getuid: () => uid,
    setgroups: setgroups!,
    setgid: setgid!,
    setuid: setuid!,
    seteuid: seteuid!,
  };
}

/** Where others may go. */
function openFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-owner-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  return folder;
}

t.test(
  "root has the rights of the owner of the directory, or of the one above",
  { skip: notRoot },
  (t) => {
    const folder = openFolder(t);
    const theirs = join(folder, "theirs");
    mkdirSync(theirs, { mode: 0o700 });
    chownSync(theirs, nobody, 7);
    const asNobody = [
      ["groups", [7]],
      ["gid", 7],
      ["uid", nobody],
    ];
    for (const [directory, expected, uid] of [
      [theirs, asNobody, 0],
      [join(theirs, "not/there"), asNobody, 0],
      [folder, [], 0],
      [join(folder, "not-there"), [], 0],
      [theirs, [], 1000],
    ] as const) {
      const privileges = noted(uid);
      becomeOwnerOf(directory, privileges);
      t.same(privileges.calls, expected, directory);
    }
    const backup = join(theirs, "backup");
    writeFileSync(backup, "");
    const reading = noted();
    closeSync(openAsOwner(backup, reading));
    t.same(reading.calls, [
      ["euid", nobody],
      ["euid", 0],
    ]);
    t.end();
  },
);

t.test(
  "a directory of root's that others write is refused, unless they can't exchange",
  { skip: notRoot },
  (t) => {
    const folder = openFolder(t);
    for (const [mode, isRefused] of [
      [0o777, true],
      [0o775, true],
      [0o1777, false],
      [0o755, false],
    ] as const) {
      chmodSync(folder, mode);
      const become = (): void => becomeOwnerOf(folder, noted());
      if (isRefused) t.throws(become, OpenDirectoryError, mode.toString(8));
      else t.doesNotThrow(become, mode.toString(8));
    }
    t.end();
  },
);

t.test("links of a hostile owner lead root's restore nowhere", { skip: notRoot }, (t) => {
  const folder = openFolder(t);
  const program = programPath("sluice");
  if (spawnSync("test", ["-r", program], { uid: nobody }).status !== 0) {
    t.end();
    return;
  }
  const [own, theirs] = ["own", "theirs"].map((name) => join(folder, name)) as [string, string];
  mkdirSync(own, { mode: 0o700 });
  mkdirSync(theirs, { mode: 0o700 });
  const backup = join(own, "backup");
  writeFileSync(backup, gunzipSync(readFileSync(recorded)), { mode: 0o600 });
  const precious = join(own, "precious");
  writeFileSync(precious, "as it was", { mode: 0o600 });
  for (const name of ["limiterd.mdb", "limiterd.mdb-lock", "limiterd.mdb.mark"])
    symlinkSync(precious, join(theirs, name));
  chownSync(theirs, nobody, nobody);
  const restore = (file: string): { readonly status: number | null; readonly said: string } => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [program, "restore", file, "--yes", "--data-dir", theirs],
      { encoding: "utf8", cwd: folder, env: { SLUICE_SOCKET: join(folder, "none.sock") } },
    );
    return { status, said: stdout + stderr };
  };
  const done = restore(backup);
  t.equal(done.status, 0, done.said);
  t.equal(readFileSync(precious, "utf8"), "as it was");
  t.same([statSync(precious).uid, statSync(precious).nlink], [0, 1]);
  t.same(
    readdirSync(theirs).filter((name) => statSync(join(theirs, name)).uid !== nobody),
    ["limiterd.mdb.mark"],
    "what leads elsewhere is left as it was",
  );

  symlinkSync(backup, join(theirs, "backup"));
  const stolen = restore(join(theirs, "backup"));
  t.equal(stolen.status, 74, stolen.said);
  t.match(stolen.said, /permission denied/);
  t.end();
});
