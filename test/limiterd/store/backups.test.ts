import t from "tap";
import { backupWaitMs } from "../../../limiterd/bounds.js";
import { Backups, type CopyInProgress, type StoreCopy } from "../../../limiterd/store/backups.js";
import { StoreFailingError } from "../../../limiterd/store/store.js";

interface FakeCopy {
  made(bytes: Uint8Array): void;
  failed(error: Error): void;
  cancelled: boolean;
  closed: boolean;
}

function fakeBackups(): {
  readonly backups: Backups;
  readonly copies: FakeCopy[];
  readonly timers: (() => void)[];
} {
  const copies: FakeCopy[] = [];
  const timers: (() => void)[] = [];
  const beginCopy = (): CopyInProgress => {
    let resolve: (copy: StoreCopy) => void = () => {};
    let reject: (error: Error) => void = () => {};
    const promise = new Promise<StoreCopy>((...ends) => {
      [resolve, reject] = ends;
    });
    const copy: FakeCopy = {
      cancelled: false,
      closed: false,
      failed: reject,
      made: (bytes) =>
        resolve({
          bytes: bytes.length,
          read: async (from, length) => bytes.subarray(from, from + length),
          close() {
            copy.closed = true;
          },
        }),
    };
    copies.push(copy);
    return {
      finished: promise,
      storeBytes: 100,
      copiedBytes: () => 40,
      cancel() {
        copy.cancelled = true;
        reject(new StoreFailingError("cancelled"));
      },
    };
  };
  const schedule = (_ms: number, run: () => void): void => void timers.push(run);
  return { backups: new Backups({ beginCopy, schedule }), copies, timers };
}

const noon = Date.parse("2026-11-23T12:00:00Z");
const [one, another] = [{ name: "one" }, { name: "another" }];

t.test(
  "a copy is waited for a moment, then its asker hears how far it is, until it is made",
  async (t) => {
    const { backups, copies, timers } = fakeBackups();
    const first = backups.progress(one, noon);
    timers.shift()!();
    t.same(await first, {
      ok: true,
      value: { ready: false, as_of: "2026-11-23T12:00:00.000Z", copied_bytes: 40, bytes: 100 },
    });
    const second = backups.progress(one, noon + 500);
    copies[0]!.made(Buffer.from("content"));
    t.same(await second, {
      ok: true,
      value: { ready: true, as_of: "2026-11-23T12:00:00.000Z", copied_bytes: 7, bytes: 7 },
    });
    t.equal(copies.length, 1);
    t.same(await backups.read(one, 3), { ok: true, value: Buffer.from("tent") });
    t.same(await backups.read(one, 7), { ok: true, value: Buffer.alloc(0) });
  },
);

t.test("there is one at a time: another connection is refused, and has none to read", async (t) => {
  const { backups, copies } = fakeBackups();
  void backups.progress(one, noon);
  t.match(await backups.progress(another, noon), {
    ok: false,
    failure: { status: 409, message: "another backup is being made: there is one at a time" },
  });
  copies[0]!.made(Buffer.from("content"));
  await backups.progress(one, noon);
  t.match(await backups.read(another, 0), { ok: false, failure: { status: 409 } });
  backups.endCopyOf(another);
  t.notOk(copies[0]!.closed);
});

t.test("a copy ends with its connection, made or not, and the next one may begin", async (t) => {
  const { backups, copies } = fakeBackups();
  void backups.progress(one, noon);
  backups.endCopyOf(one);
  t.ok(copies[0]!.cancelled);
  const next = backups.progress(another, noon);
  copies[1]!.made(Buffer.from("content"));
  t.match(await next, { ok: true });
  backups.endCopyOf(another);
  t.ok(copies[1]!.closed);
  t.match(await backups.read(another, 0), { ok: false });
});

t.test("a copy that is made after its connection has ended is closed", async (t) => {
  const { backups, copies } = fakeBackups();
  const asked = backups.progress(one, noon);
  copies[0]!.made(Buffer.from("content"));
  backups.endCopyOf(one);
  await asked;
  t.ok(copies[0]!.closed);
});

t.test("a store that can't be written ends a copy that is made; its asker hears why", async (t) => {
  const { backups, copies } = fakeBackups();
  const asked = backups.progress(one, noon);
  backups.giveUp(new Error("no space left on device"));
  t.ok(copies[0]!.cancelled);
  t.match(await asked, {
    ok: false,
    failure: { status: 503, message: "the backup can't be made: no space left on device" },
  });
  t.notOk(backups.isOf(one));
});

t.test("only a running backup is cancelled, and reports the first reason", async (t) => {
  const { backups, copies } = fakeBackups();
  backups.giveUp(new Error("nothing is made yet"));
  const asked = backups.progress(one, noon);
  backups.giveUp(new Error("the first"));
  backups.giveUp(new Error("the second"));
  t.match(await asked, { failure: { message: "the backup can't be made: the first" } });
  const again = backups.progress(one, noon);
  copies[1]!.made(Buffer.from("content"));
  await again;
  backups.giveUp(new Error("it is there already"));
  t.notOk(copies[1]!.closed);
  t.same(await backups.read(one, 0), { ok: true, value: Buffer.from("content") });
  t.match(await backups.progress(one, noon), { ok: true, value: { ready: true } });
});

t.test("a copy that is made though it was given up is closed", async (t) => {
  let made: (copy: StoreCopy) => void = () => {};
  const backups = new Backups({
    beginCopy: () => ({
      finished: new Promise((resolve) => {
        made = resolve;
      }),
      storeBytes: 0,
      copiedBytes: () => 0,
      cancel() {},
    }),
    schedule: () => {},
  });
  const asked = backups.progress(one, noon);
  backups.giveUp(new Error("no space"));
  let closed = 0;
  made({ bytes: 1, read: () => Promise.resolve(Buffer.alloc(0)), close: () => closed++ });
  t.match(await asked, { ok: false, failure: { message: "the backup can't be made: no space" } });
  t.equal(closed, 1);
});

t.test("a client that left gets no backup, and doesn't remove another client's", async (t) => {
  const { backups, copies } = fakeBackups();
  const left = backups.progress(one, noon);
  backups.endCopyOf(one);
  const next = backups.progress(another, noon);
  t.match(await left, { ok: false, failure: { message: /cancelled/ } });
  t.equal(backups.isOf(another), true);
  t.notOk(copies[1]!.cancelled);
  copies[1]!.made(Buffer.from("content"));
  t.match(await next, { ok: true, value: { ready: true } });
});

t.test("a copy is read by who asked for it alone, and not before it is made", async (t) => {
  const { backups, copies } = fakeBackups();
  const none = { failure: { status: 409, message: "this connection has no backup" } };
  t.match(await backups.read(one, 0), none);
  const asked = backups.progress(one, noon);
  t.equal(backups.isOf(one), true);
  t.equal(backups.isOf(another), false);
  t.match(await backups.read(one, 0), none);
  copies[0]!.made(Buffer.from("content"));
  await asked;
  t.match(await backups.read(another, 0), none);
  t.equal(backups.isOf(one), true);
  backups.endCopyOf(one);
  t.equal(backups.isOf(one), false);
  t.match(await backups.read(one, 0), none);
});

t.test("more may be copied than was there at first", async (t) => {
  for (const [storeBytes, copied, bytes] of [
    [100, 40, 100],
    [100, 140, 140],
  ] as const) {
    const as_of = new Date(noon).toISOString();
    const waits: number[] = [];
    const backups = new Backups({
      beginCopy: () => ({
        finished: new Promise(() => {}),
        storeBytes,
        copiedBytes: () => copied,
        cancel() {},
      }),
      schedule(ms, run) {
        waits.push(ms);
        run();
      },
    });
    const value = { ready: false, as_of, copied_bytes: copied, bytes };
    t.same(await backups.progress(one, noon), { ok: true, value });
    t.same(waits, [backupWaitMs]);
  }
});

t.test("what isn't the store's failure isn't taken for one", async (t) => {
  const bug = new TypeError("a bug");
  const schedule = (): void => {};
  const beginCopy = (): never => {
    throw bug;
  };
  await t.rejects(new Backups({ schedule, beginCopy }).progress(one, noon), bug);
  const made = Promise.reject(bug);
  const copying = { finished: made, storeBytes: 0, copiedBytes: () => 0, cancel() {} };
  await t.rejects(new Backups({ schedule, beginCopy: () => copying }).progress(one, noon), bug);
});

t.test(
  "a copy that can't begin, or fails, is refused with the reason, and forgotten",
  async (t) => {
    const failing = new Backups({
      beginCopy() {
        throw new StoreFailingError("no room");
      },
      schedule: () => {},
    });
    for (const _ of [1, 2])
      t.match(await failing.progress(one, noon), {
        failure: { message: "the backup can't be made: no room" },
      });
    const { backups, copies } = fakeBackups();
    const asked = backups.progress(one, noon);
    copies[0]!.failed(new StoreFailingError("the disk is gone"));
    t.match(await asked, { failure: { message: /the disk is gone/ } });
    t.notOk(backups.isOf(one));
  },
);

t.test(
  "a copy that can't be read fails its reader alone, and makes room for the next",
  async (t) => {
    let closed = 0;
    const copy: StoreCopy = {
      bytes: 3,
      read: () => Promise.reject(new Error("EIO: i/o error, read")),
      close: () => closed++,
    };
    const backups = new Backups({
      beginCopy: () => ({
        finished: Promise.resolve(copy),
        storeBytes: 3,
        copiedBytes: () => 3,
        cancel() {},
      }),
      schedule: () => {},
    });
    await backups.progress(one, noon);
    t.match(await backups.read(one, 0), {
      ok: false,
      failure: { message: /EIO: i\/o error, read/ },
    });
    t.equal(closed, 1);
    t.equal(backups.isOf(one), false);
    await backups.progress(another, noon);
    const reading = backups.read(another, 0);
    backups.endCopyOf(another);
    t.match(await reading, { ok: false }, "its connection ended meanwhile");
    t.equal(closed, 2);
  },
);
