import { EventEmitter, once } from "node:events";
import { chmodSync } from "node:fs";
import t, { type Test } from "tap";
import { connectLimiter } from "../../../../proxy/limiter/client/connect-limiter.js";
import type { Config } from "../../../../shared/config/config.js";
import type { Log } from "../../../../shared/log.js";
import type { Peer } from "../../../../shared/socket/socket-peer.js";
import { encodeFrame } from "../../../../shared/wire/codec.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { asFrame, listenForSettles, welcome } from "../spool/settle-listener.js";

t.test("connecting and disconnecting are reported, and nothing after a close", async (t) => {
  const peers: Peer[] = [];
  const at = await listenForSettles(t, ({ kind }, peer) => {
    peers.push(peer);
    if (kind === "hello") peer.send(asFrame(welcome(0)));
  });
  const links = new EventEmitter();
  const lines: string[] = [];
  const say = (level: string) => (_: unknown, text: string) => void lines.push(`${level} ${text}`);
  const log = { info: say("info"), warn: say("warn"), error: say("error") } as unknown as Log;
  const config = {
    socket: at.path,
    adminSocket: at.adminPath,
    failureMode: "closed",
    deadlineMs: 5000,
  } as unknown as Config["limiter"];
  const connected = connectLimiter(config, log, (linked) => void links.emit("link", linked));
  connected.dial();
  t.teardown(() => connected.close());
  t.same(await once(links, "link"), [true]);
  let isInTime = false;
  void connected.linkedInTime.then(() => (isInTime = true));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(isInTime, true, "a start waits for the link, and no longer");
  t.equal(connected.client.reachable, true);
  peers[0]!.send(encodeFrame(["sonnet", 1, 2]));
  peers[0]!.send(asFrame({ kind: "event", name: "keys_exist", value: true }));
  while (connected.client.notices.keysExist !== true)
    await new Promise((resolve) => setImmediate(resolve));
  const before = [
    "info connected to the limiter daemon",
    "error the limiter daemon sent a frame that can't be read",
  ];
  t.same(lines, before, "a message of no known kind ends nothing");
  const lost = once(links, "link");
  peers[0]!.send(Buffer.from([0, 0, 0, 2, 0xc1, 0xc1]));
  t.same(await lost, [false], "bytes that are no frame end the connection");
  t.same(await once(links, "link"), [true], "it connects again");
  t.same(lines, [
    ...before,
    "warn lost the limiter daemon",
    "info connected to the limiter daemon",
  ]);
  t.same(
    { ...connected.unacknowledged(), settles: [...connected.unacknowledged().settles] },
    {
      count: 0,
      settles: [],
      sentAgoMs: null,
    },
  );
  connected.close();
  while (connected.client.reachable) await new Promise((resolve) => setImmediate(resolve));
  t.equal(lines.length, 4, "an end on purpose is none that is told");
});

/** What a link to this socket logs as the reason why there is none, and the start that waits. */
async function unreachable(t: Test, socket: string, adminSocket: string) {
  const heard = new EventEmitter();
  const log = {
    warn: (about: { reason: string }, text: string) => void heard.emit("line", about.reason, text),
  } as unknown as Log;
  const config = { socket, adminSocket } as Config["limiter"];
  const said = once(heard, "line") as Promise<[reason: string, text: string]>;
  const timers: { readonly run: () => void; readonly ms: number }[] = [];
  const setTimer = globalThis.setTimeout;
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    timers.push({ run, ms });
    return setTimer(() => {}, 0);
  }) as unknown as typeof setTimeout;
  const connected = connectLimiter(config, log);
  connected.dial();
  globalThis.setTimeout = setTimer;
  t.teardown(() => connected.close());
  return { connected, timers, line: await said };
}

t.test("a missing daemon is logged once, and requests may begin all the same", async (t) => {
  const at = await listenForSettles(t, () => {});
  const { connected, timers, line } = await unreachable(t, `${at.path}.none`, at.adminPath);
  t.same(line, ["ENOENT", "the limiter daemon can't be reached"]);
  const begins = timers.filter(({ ms }) => ms === 2_000);
  t.equal(begins.length, 1, "two seconds after the start");
  begins[0]!.run();
  await connected.linkedInTime;
});

t.test("an untrusted socket is reported with the reason", async (t) => {
  const at = await listenForSettles(t, () => t.fail("nothing is sent to it"));
  chmodSync(at.directory, 0o777);
  const { line } = await unreachable(t, at.path, at.adminPath);
  t.match(
    line,
    exactly([/^anyone may exchange the socket in /, "the limiter daemon can't be reached"]),
  );
});
