import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SettleDirectory } from "../../../../proxy/limiter/spool/settle-directory.js";
import { SettleFileReader, settleFrame } from "../../../../proxy/limiter/spool/settle-file.js";
import { spoolBytesMax } from "../../../../shared/bounds.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { someSettle } from "./some-settle.js";

const head = { proxyId: "stopped", writtenAtMs: 1, sentAtMs: 0 };
const hourMs = 3_600_000;

async function newDirectory(t: Test) {
  const path = join(mkdtempSync(join(tmpdir(), "sluice-spool-")), "spool");
  t.teardown(() => rmSync(join(path, ".."), { recursive: true, force: true }));
  const directory = new SettleDirectory(path, "one");
  await directory.prepare();
  return { path, directory, other: new SettleDirectory(path, "two") };
}

t.test("a directory of another user, or that others may write to, isn't used", async (t) => {
  const { path, directory } = await newDirectory(t);
  await directory.prepare();
  chmodSync(path, 0o770);
  await t.rejects(directory.prepare(), { message: /writable by this user only/ });
  for (const mode of [0o750, 0o755, 0o701]) {
    chmodSync(path, mode);
    await directory.prepare();
  }
  // Only root can give it away.
  if (process.geteuid?.() !== 0) return;
  chownSync(path, 12_345, 12_345);
  await t.rejects(directory.prepare(), { message: /must belong to this user/ });
});

t.test("a file is there completely, for its user alone, and is taken by one proxy", async (t) => {
  const { path, directory, other } = await newDirectory(t);
  const settles = Array.from({ length: 1200 }, (_, i) => someSettle(i + 1));
  t.equal(await directory.write(head, settles), 1200);
  t.same(readdirSync(path), ["stopped.settles"]);
  t.equal(statSync(path).mode & 0o777, 0o700);
  t.equal(statSync(join(path, "stopped.settles")).mode & 0o777, 0o600);
  const found = await directory.find(Date.now());
  t.match(
    found,
    exactly([{ name: "stopped.settles", proxyId: "stopped", triedAtMs: null, flaw: null }]),
  );
  const both = await Promise.all([directory.take(found[0]!), other.take(found[0]!)]);
  const [taken] = both.filter((file) => file !== null);
  t.equal(both.filter((file) => file === null).length, 1);
  const reader = new SettleFileReader();
  for await (const piece of taken!.readPieces()) reader.feed(piece, () => {});
  t.same([reader.complete, reader.count, reader.head], [true, 1200, head]);
  t.same(await other.find(Date.now()), [], "it isn't free");
  await taken!.remove();
  t.same(readdirSync(path), []);
});

t.test(
  "a file that can't be taken for another reason than another proxy is an error",
  async (t) => {
    const { path, directory } = await newDirectory(t);
    await directory.write(head, [someSettle(1)]);
    const [found] = await directory.find(Date.now());
    t.equal(await directory.take({ ...found!, name: "gone.settles" }), null);
    await t.rejects(directory.take({ ...found!, proxyId: "x".repeat(300) }), {
      code: "ENAMETOOLONG",
    });
    t.same(readdirSync(path), ["stopped.settles"]);
  },
);

t.test("one that a proxy gave up, or died with, is free again", async (t) => {
  const { path, directory, other } = await newDirectory(t);
  await directory.write(head, [someSettle(1)]);
  const first = (await directory.take((await directory.find(Date.now()))[0]!))!;
  await first.release();
  const [again] = await other.find(Date.now());
  t.match(again, { triedAtMs: Number });
  const second = (await other.take(again!))!;
  const longAgo = new Date(Date.now() - hourMs);
  utimesSync(join(path, readdirSync(path)[0]!), longAgo, longAgo);
  const third = (await directory.take((await directory.find(Date.now()))[0]!))!;
  t.equal(await second.touch(), false, "the one that stood still notices it");
  await second.release();
  t.equal(await third.touch(), true);
  await third.setAside();
  t.same(readdirSync(path), ["stopped.settles.refused"]);
  t.same(await directory.find(Date.now()), []);
});

t.test(
  "what isn't a file of this user alone, or is unfinished, is found with its flaw",
  async (t) => {
    const { path, directory } = await newDirectory(t);
    writeFileSync(join(path, "open.settles"), "", { mode: 0o600 });
    chmodSync(join(path, "open.settles"), 0o666);
    symlinkSync("/etc/passwd", join(path, "link.settles"));
    mkdirSync(join(path, "directory.settles"));
    writeFileSync(join(path, "unfinished.settles.part"), "");
    writeFileSync(join(path, "something-else"), "");
    const flaws = async (nowMs: number) =>
      Object.fromEntries((await directory.find(nowMs)).map(({ name, flaw }) => [name, flaw]));
    const strange = /^it isn't a file of this user alone/;
    const odd = { "open.settles": strange, "link.settles": strange, "directory.settles": strange };
    t.match(await flaws(Date.now()), odd);
    t.notOk("unfinished.settles.part" in (await flaws(Date.now())), "it may be being written");
    t.match(await flaws(Date.now() + hourMs), {
      ...odd,
      "unfinished.settles.part": /killed while it wrote/,
    });
    const part = join(path, "unfinished.settles.part");
    const writtenAt = new Date(1_767_225_600_000);
    utimesSync(part, writtenAt, writtenAt);
    for (const [agoMs, isFound] of [
      [10_000, false],
      [10_001, true],
    ] as const) {
      const found = await flaws(writtenAt.getTime() + agoMs);
      t.equal("unfinished.settles.part" in found, isFound, `${agoMs} ms ago`);
    }
    await directory.setAside("link.settles");
    t.ok(readdirSync(path).includes("link.settles.refused"));
  },
);

t.test(
  "a directory that others may write is not used; the one around it is not made",
  async (t) => {
    const { path, directory } = await newDirectory(t);
    chmodSync(path, 0o770);
    await t.rejects(
      directory.prepare(),
      /must belong to this user and be writable by this user only/,
    );
    await t.rejects(new SettleDirectory(join(path, "no", "spool"), "x").prepare(), {
      code: "ENOENT",
    });
  },
);

t.test(
  "a directory that is full takes what fits, a file that can't be written leaves nothing",
  async (t) => {
    const { path, directory } = await newDirectory(t);
    writeFileSync(join(path, "much"), "");
    const frame = 400;
    truncateSync(join(path, "much"), spoolBytesMax - 5 * frame);
    const settles = Array.from({ length: 100 }, (_, i) => someSettle(i + 1));
    const kept = await directory.write(head, settles);
    t.ok(kept > 2 && kept < 20, `${kept} of 100`);
    const [found] = await directory.find(Date.now());
    const reader = new SettleFileReader();
    for await (const piece of (await directory.take(found!))!.readPieces())
      reader.feed(piece, () => {});
    t.same([reader.complete, reader.count], [true, kept]);
    rmSync(join(path, "much"));
    const failing = (function* () {
      yield someSettle(1);
      throw new Error("no space left on device");
    })();
    await t.rejects(directory.write({ ...head, proxyId: "b" }, failing), /no space left/);
    t.notOk(readdirSync(path).some((name) => name.startsWith("b.")));
  },
);

t.test("the bound on the directory is met to the byte", async (t) => {
  const frameBytes = settleFrame(someSettle(1)).length;
  const settles = Array.from({ length: 9 }, (_, i) => someSettle(i + 1));
  for (const [left, expected] of [
    [3 * frameBytes, 3],
    [3 * frameBytes - 1, 2],
    [0, 0],
  ] as const) {
    const { path, directory } = await newDirectory(t);
    writeFileSync(join(path, "much"), "");
    truncateSync(join(path, "much"), spoolBytesMax - left);
    t.equal(await directory.write(head, settles), expected, `${left} bytes are left`);
  }
});

t.test("no file stays open", async (t) => {
  const { path, directory } = await newDirectory(t);
  await directory.write(head, [someSettle(1)]);
  const [found] = await directory.find(Date.now());
  const taken = (await directory.take(found!))!;
  for await (const piece of taken.readPieces()) t.ok(piece.length > 0);
  for await (const _ of taken.readPieces()) break;
  const failing = (function* () {
    yield someSettle(1);
    throw new Error("no space left on device");
  })();
  await t.rejects(directory.write(head, failing));
  const open = readdirSync("/proc/self/fd").filter((fd) => pathOf(fd).startsWith(path));
  t.same(open, []);
});

function pathOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The listing's own.
    return "";
  }
}
