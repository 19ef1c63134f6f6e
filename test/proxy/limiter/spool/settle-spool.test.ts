import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SettleSpool } from "../../../../proxy/limiter/spool/settle-spool.js";
import type { Config } from "../../../../shared/config/config.js";
import type { Log } from "../../../../shared/log.js";
import type { Peer } from "../../../../shared/socket/socket-peer.js";
import { wireVersions } from "../../../../shared/wire/wire-versions.js";
import { asFrame, listenForSettles, refused, welcome } from "./settle-listener.js";
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
  t.match(lines, [{ level: "warn", text: /left for the next proxy/, about: { settles: 3 } }]);
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
  await one.close();
  t.same(files(), ["stopped.settles"]);
  t.same(heard, []);
});

t.test("it looks again by itself, for what another proxy has left meanwhile", async (t) => {
  const { spool, logged, files } = await bench(t);
  const begun: { readonly run: () => void; readonly ms: number }[] = [];
  const interval = globalThis.setInterval;
  globalThis.setInterval = ((run: () => void, ms: number) => {
    begun.push({ run, ms });
    return interval(() => {}, ms);
  }) as typeof setInterval;
  const one = spool();
  globalThis.setInterval = interval;
  one.linkChanged(true);
  await new Promise((resolve) => setImmediate(resolve));
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

t.test("a link that is lost meanwhile leaves the file to the next proxy", async (t) => {
  const { spool, files, heard, lines } = await bench(t, () => one.linkChanged(false));
  const one = spool();
  await one.leave("stopped", left);
  one.linkChanged(true);
  await new Promise<void>((resolve) => {
    const look = (): void =>
      void (files()[0] === "stopped.settles~" ? resolve() : setImmediate(look));
    look();
  });
  await one.close();
  t.equal(heard.length > 0, true);
  t.match(lines.at(-1), { level: "warn", text: /can't be delivered now/ });
  t.same(files(), ["stopped.settles~"]);
});

t.test("a daemon of an earlier release is spoken to in its version at the next look", async (t) => {
  const { oldest, newest } = wireVersions;
  const { spool, heard, logged, files } = await bench(t, (message, peer) => {
    if (message.kind === "settle")
      return peer.send(asFrame({ kind: "settled", seq: message.seq! }));
    if (message.wireVersion === oldest) return peer.send(asFrame(welcome(0)));
    peer.send(asFrame(refused));
    peer.close();
  });
  const one = spool();
  await one.leave("stopped", left);
  one.linkChanged(true);
  await logged(/can't be delivered now/);
  t.same(files(), ["stopped.settles~"]);
  await new Promise((resolve) => setImmediate(resolve));
  one.linkChanged(true);
  await logged(/delivered the settles/);
  t.same(
    heard.filter(({ kind }) => kind !== "settle").map(({ wireVersion }) => wireVersion),
    oldest === newest ? [newest] : [newest, oldest],
  );
});

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

t.test("settles that can't be written are said to be lost", async (t) => {
  const { spool, spoolDir, lines } = await bench(t);
  writeFileSync(spoolDir, "not a directory");
  await spool().leave("stopped", left);
  t.match(lines, [
    { level: "error", text: /can't be written: they are lost/, about: { settles: 3 } },
  ]);
  const one = spool();
  one.linkChanged(true);
  await one.close();
  t.match(lines.at(-1), { level: "warn", text: /can't be kept or delivered/ });
});
