import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import t, { type Test } from "tap";
import { keptPath, removeOlder } from "../../../bin/store/kept-backups.js";

function directoryOf(t: Test, names: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-kept-"));
  t.teardown(() => rmSync(directory, { recursive: true }));
  for (const name of names) writeFileSync(join(directory, name), "");
  return directory;
}

const day = (date: number): string => `limiterd-202611${date}T001742Z.mdb`;
const made = basename(keptPath("", Date.parse("2026-11-28T00:17:42.315Z")));

t.test("a backup's name is its time", async (t) => {
  t.equal(made, day(28));
});

t.test("the last ones are kept, and whatever isn't a backup of this kind", async (t) => {
  const others = [
    "limiterd.mdb",
    "limiterd-old.mdb",
    `${day(20)}.gz`,
    `x${day(20)}`,
    `.${day(20)}.partial`,
  ];
  const left = `.${day(25)}.0a1b2c3d.partial`;
  const directory = directoryOf(t, [day(24), day(25), day(26), day(27), made, left, ...others]);
  mkdirSync(join(directory, day(10)));
  symlinkSync("/dev/null", join(directory, day(11)));
  const removed = await removeOlder(join(directory, made), 3);
  t.same(
    removed.map((path) => basename(path)),
    [day(24), day(25), left],
  );
  t.same(
    readdirSync(directory).sort(),
    [...others, day(10), day(11), day(26), day(27), made].sort(),
  );
  t.same(await removeOlder(join(directory, made), 3), []);
});

t.test("the one just made stays, also where the clock was wrong before", async (t) => {
  const ahead = ["limiterd-20990101T000000Z.mdb", "limiterd-20990102T000000Z.mdb"];
  const directory = directoryOf(t, [...ahead, day(27), made]);
  await removeOlder(join(directory, made), 2);
  t.same(readdirSync(directory).sort(), [made, ahead[1]]);
  await removeOlder(join(directory, made), 1);
  t.same(readdirSync(directory), [made]);
});

t.test("fewer than may be kept are all kept", async (t) => {
  const directory = directoryOf(t, [day(27), made]);
  t.same(await removeOlder(join(directory, made), 7), []);
});
