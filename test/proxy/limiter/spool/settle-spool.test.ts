import {
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SettleDirectory } from "../../../../proxy/limiter/spool/settle-directory.js";
import { settleFrame } from "../../../../proxy/limiter/spool/settle-file.js";
import { SettleSpool } from "../../../../proxy/limiter/spool/settle-spool.js";
import { spoolBytesMax } from "../../../../shared/bounds.js";
import type { Config } from "../../../../shared/config/config.js";
import type { Log } from "../../../../shared/log.js";
import type { Peer } from "../../../../shared/socket/socket-peer.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { asFrame, listenForSettles, welcome } from "./settle-listener.js";
import { someSettle } from "./some-settle.js";

const settles = [1, 2, 3].map((seq) => someSettle(seq));
const left = { count: 3, settles, sentAgoMs: null };

/** Acknowledges every settle; 0 of them are durable before. */
function takes({ kind, seq }: { kind: string; seq?: number }, peer: Peer): void {
  peer.send(asFrame(kind === "settle" ? { kind: "settled", seq: seq! } : welcome(0)));
}

async function bench(t: Test, answer: Parameters<typeof listenForSettles>[1] = takes) {
  const at = await listenForSettles(t, answer);
  const spoolDir = join(at.directory, "spool");
  const lines: { readonly level: string; readonly text: string; readonly about: unknown }[] = [];
  const waiting: (() => void)[] = [];
  const say =
    (level: string) =>
    (about: unknown, text: string): void => {
      lines.push({ level, text, about });
      for (const run of waiting.splice(0)) run();
    };
  const log = { info: say("info"), warn: say("warn"), error: say("error") } as unknown as Log;
  const config = { spoolDir, socket: at.path, adminSocket: at.adminPath } as Config["limiter"];
  const made: SettleSpool[] = [];
  t.teardown(() => Promise.all(made.map((spool) => spool.close())));
  return {
    ...at,
    spoolDir,
    lines,
    files: () => readdirSync(spoolDir),
    spool() {
      const spool = new SettleSpool(config, log);
      made.push(spool);
      return spool;
    },
    /** Resolved once a line was logged that says this. */
    async logged(pattern: RegExp): Promise<void> {
      while (!lines.some(({ text }) => pattern.test(text)))
        await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

t.test("what a stopping proxy leaves, the next one delivers once", async (t) => {
  const { spool, logged, lines, files, heard } = await bench(t);
  await spool().leave("stopped", left);
  t.match(
    lines,
    exactly([{ level: "warn", text: /left for the next proxy/, about: { settles: 3 } }]),
  );
  t.equal(lines.length, 1, "none is lost");
  t.same(files(), ["stopped.settles"]);
  const next = spool();
  next.linkChanged(true);
  next.linkChanged(true);
  await logged(/delivered the settles/);
  await next.close();
  t.same(
    heard.map(({ kind, seq }) => seq ?? kind),
    ["hello", 1, 2, 3],
  );
  t.match(lines.at(-1), { level: "info", about: { proxy: "stopped", settles: 3 } });
  t.same(files(), []);
});

t.test("nothing is delivered without a link, nor after a close", async (t) => {
  const { spool, files, heard } = await bench(t);
  const one = spool();
  await one.leave("stopped", left);
  one.linkChanged(false);
  await one.close();
  one.linkChanged(true);
  // It takes as long as it would take to deliver the first.
  for (const name of ["second", "third"]) await one.leave(name, left);
  await one.close();
  t.same(files().sort(), ["second.settles", "stopped.settles", "third.settles"]);
  t.same(heard, []);
});

t.test("the spool is read again on a timer, for what other proxies have left", async (t) => {
  const { spool, logged, files, lines } = await bench(t);
  const begun: { readonly run: () => void; readonly ms: number }[] = [];
  const interval = globalThis.setInterval;
  globalThis.setInterval = ((run: () => void, ms: number) => {
    begun.push({ run, ms });
    return interval(() => {}, ms);
  }) as typeof setInterval;
  const one = spool();
  globalThis.setInterval = interval;
  const other = spool();
  await other.leave("early", left);
  begun[0]!.run();
  for (const name of ["second", "third"]) await other.leave(name, left);
  t.equal(files().length, 3, "without a link nothing is looked for");
  one.linkChanged(true);
  while (lines.filter(({ text }) => /delivered the settles/.test(text)).length < 3)
    await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  lines.splice(0);
  await spool().leave("stopped", left);
  t.same(
    begun.map(({ ms }) => ms),
    [30_000],
  );
  begun[0]!.run();
  await logged(/delivered the settles/);
  await one.close();
  t.same(files(), []);
});

t.test(
  "a link that is lost meanwhile leaves the file to the next proxy, as a close does",
  async (t) => {
    const setTimer = globalThis.setTimeout;
    t.teardown(() => (globalThis.setTimeout = setTimer));
    // So that it isn't the daemon's silence that ends the delivery.
    globalThis.setTimeout = ((run: () => void, ms: number) =>
      setTimer(ms === 10_000 ? () => {} : run, ms)) as typeof setTimeout;
    for (const end of [
      (one: SettleSpool): void => one.linkChanged(false),
      (one: SettleSpool): void => void one.close(),
    ]) {
      const { spool, files, heard, lines } = await bench(t, () => end(one));
      const one = spool();
      await one.leave("stopped", left);
      one.linkChanged(true);
      while (files()[0] !== "stopped.settles~")
        await new Promise((resolve) => setImmediate(resolve));
      await one.close();
      t.equal(heard.length > 0, true);
      t.match(lines.at(-1), { level: "warn", text: /can't be delivered now/ });
      t.same(files(), ["stopped.settles~"]);
    }
  },
);

t.test(
  "what is damaged, too old or a stranger's is set aside, and the rest delivered",
  async (t) => {
    const { spool, spoolDir, lines, files, logged, heard } = await bench(t);
    const one = spool();
    await one.leave("whole", left);
    await one.leave("torn", left);
    await one.leave("old", { ...left, sentAgoMs: 400 * 86_400_000 });
    const torn = readFileSync(join(spoolDir, "torn.settles"));
    writeFileSync(join(spoolDir, "torn.settles"), torn.subarray(0, -3));
    writeFileSync(join(spoolDir, "empty.settles"), "", { mode: 0o600 });
    mkdirSync(join(spoolDir, "strange.settles"));
    one.linkChanged(true);
    await logged(/delivered the settles/);
    await one.close();
    t.same(
      lines
        .filter(({ level }) => level === "error")
        .map(({ about }) => about as { readonly file: string; readonly reason: string })
        .map(({ file, reason }) => `${file} ${reason.slice(0, 13)}`)
        .sort(),
      [
        "empty.settles it is damaged",
        "old.settles it is so old ",
        "strange.settles it isn't a fi",
        "torn.settles it is damaged",
      ],
    );
    t.same(files().sort(), [
      "empty.settles.refused",
      "old.settles.refused",
      "strange.settles.refused",
      "torn.settles.refused",
    ]);
    t.equal(heard.filter(({ kind }) => kind === "settle").length, 3, "nothing of the others");
  },
);

t.test("once the link is lost, files aren't taken any more, nor is one sent", async (t) => {
  const { spool, files, heard } = await bench(t);
  const one = spool();
  await one.leave("first", left);
  await one.leave("second", left);
  const { take } = SettleDirectory.prototype;
  t.teardown(() => (SettleDirectory.prototype.take = take));
  SettleDirectory.prototype.take = async function (found) {
    const file = await take.call(this, found);
    one.linkChanged(false);
    return file;
  };
  one.linkChanged(true);
  while (!files().some((name) => name.endsWith("~")))
    await new Promise((resolve) => setImmediate(resolve));
  await one.close();
  t.same(heard, []);
  t.equal(files().filter((name) => name.endsWith("~")).length, 1, "the one is given back");
  t.equal(files().filter((name) => name.endsWith(".settles")).length, 1, "the other is left alone");
});

t.test("a file that another proxy takes first is no news", async (t) => {
  const { spool, files, heard, lines } = await bench(t);
  const one = spool();
  await one.leave("stopped", left);
  lines.splice(0);
  const { take } = SettleDirectory.prototype;
  t.teardown(() => (SettleDirectory.prototype.take = take));
  const looked = new Promise<void>((resolve) => {
    SettleDirectory.prototype.take = (): Promise<null> => {
      resolve();
      return Promise.resolve(null);
    };
  });
  one.linkChanged(true);
  await looked;
  await one.close();
  t.same([lines, heard, files()], [[], [], ["stopped.settles"]]);
});

t.test("one file that can't be moved doesn't hold up the others", async (t) => {
  const { spool, spoolDir, lines, files, logged } = await bench(t);
  const one = spool();
  await one.leave("whole", left);
  mkdirSync(join(spoolDir, "strange.settles"));
  mkdirSync(join(spoolDir, "strange.settles.refused/full"), { recursive: true });
  one.linkChanged(true);
  await logged(/delivered the settles/);
  await one.close();
  t.same(files().sort(), ["strange.settles", "strange.settles.refused"]);
  const [warned] = lines.filter(({ text }) => /can't be delivered now/.test(text));
  t.match(warned, { level: "warn", about: { directory: spoolDir, reason: /^strange.settles: E/ } });
});

t.test("as many settles are left as fit, and the rest is said to be lost", async (t) => {
  const { spool, spoolDir, lines, files, logged, heard } = await bench(t);
  mkdirSync(spoolDir, { mode: 0o700 });
  const [first, second] = settles.map((settle) => settleFrame(settle).length);
  writeFileSync(join(spoolDir, "other"), "");
  truncateSync(join(spoolDir, "other"), spoolBytesMax - first! - second!);
  // No file has the name that it is read as, as of one that is gone meanwhile.
  const odd = Buffer.concat([Buffer.from(join(spoolDir, "odd")), Buffer.from([0xff])]);
  writeFileSync(odd, "");
  const one = spool();
  await one.leave("stopped", left);
  unlinkSync(odd);
  t.match(
    lines,
    exactly([
      { level: "warn", about: { directory: spoolDir, settles: 3 } },
      { level: "error", text: /the last ones are lost/, about: { settles: 3, lost: 1 } },
    ]),
  );
  one.linkChanged(true);
  await logged(/delivered the settles/);
  await one.close();
  t.same(
    heard.map(({ kind, seq }) => seq ?? kind),
    ["hello", 1, 2],
  );
  t.match(lines.at(-1), { about: { settles: 2 } });
  t.same(files(), ["other"]);
});

t.test("settles that can't be written are said to be lost", async (t) => {
  const { spool, spoolDir, lines, logged } = await bench(t);
  writeFileSync(spoolDir, "not a directory");
  await spool().leave("stopped", left);
  const about = { directory: spoolDir, settles: 3, reason: /^ENOTDIR/ };
  t.match(lines, exactly([{ level: "error", text: /can't be written: they are lost/, about }]));
  const one = spool();
  one.linkChanged(true);
  await logged(/can't be kept or delivered/);
  await new Promise((resolve) => setImmediate(resolve));
  one.linkChanged(true);
  await one.close();
  t.match(lines.slice(1), exactly([{ level: "warn", text: /can't be kept or delivered/ }]), "once");
  t.equal(lines.length, 2);
});
