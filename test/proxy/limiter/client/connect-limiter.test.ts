import { EventEmitter, once } from "node:events";
import t from "tap";
import { connectLimiter } from "../../../../proxy/limiter/client/connect-limiter.js";
import type { Config } from "../../../../shared/config/config.js";
import type { Log } from "../../../../shared/log.js";
import type { Peer } from "../../../../shared/socket/socket-peer.js";
import { encodeFrame } from "../../../../shared/wire/codec.js";
import { asFrame, listenForSettles, welcome } from "../spool/settle-listener.js";

t.test("a link is told when it comes and goes, and after a close nothing is", async (t) => {
  const peers: Peer[] = [];
  const at = await listenForSettles(t, ({ kind }, peer) => {
    peers.push(peer);
    if (kind === "hello") peer.send(asFrame(welcome(0)));
  });
  const told = new EventEmitter();
  const lines: string[] = [];
  const say = (level: string) => (_: unknown, text: string) => void lines.push(`${level} ${text}`);
  const log = { info: say("info"), warn: say("warn"), error: say("error") } as unknown as Log;
  const config = {
    socket: at.path,
    adminSocket: at.adminPath,
    failureMode: "closed",
    deadlineMs: 5000,
  } as unknown as Config["limiter"];
  const connected = connectLimiter(config, log, (linked) => void told.emit("link", linked));
  t.teardown(() => connected.close());
  t.same(await once(told, "link"), [true]);
  let isInTime = false;
  void connected.linkedInTime.then(() => (isInTime = true));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(isInTime, true, "a start waits for the link, and no longer");
  t.equal(connected.client.reachable, true);
  peers[0]!.send(encodeFrame(["sonnet", 1, 2]));
  peers[0]!.send(asFrame({ kind: "event", name: "keys_exist", value: true }));
  while (connected.client.keysExist !== true) await new Promise((resolve) => setImmediate(resolve));
  const before = [
    "info connected to the limiter daemon",
    "error the limiter daemon sent a frame that can't be read",
  ];
  t.same(lines, before, "a message of no known kind ends nothing");
  const lost = once(told, "link");
  peers[0]!.send(Buffer.from([0, 0, 0, 2, 0xc1, 0xc1]));
  t.same(await lost, [false], "bytes that are no frame end the connection");
  t.same(await once(told, "link"), [true], "it connects again");
  t.same(lines, [
    ...before,
    "warn lost the limiter daemon",
    "info connected to the limiter daemon",
  ]);
  t.same(
    { ...connected.left(), settles: [...connected.left().settles] },
    {
      count: 0,
      settles: [],
      sentAgoMs: null,
    },
  );
  connected.close();
  peers.at(-1)!.close();
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(lines.length, 4);
});

t.test("that nobody listens is logged once, and requests may begin all the same", async (t) => {
  const at = await listenForSettles(t, () => {});
  const lines: string[] = [];
  const heard = new EventEmitter();
  const log = {
    warn(about: { reason: string }, text: string) {
      lines.push(`${about.reason} ${text}`);
      heard.emit("line");
    },
  } as unknown as Log;
  const config = { socket: `${at.path}.none`, adminSocket: at.adminPath } as Config["limiter"];
  const said = once(heard, "line");
  const connected = connectLimiter(config, log);
  t.teardown(() => connected.close());
  await said;
  t.match(lines, [/^ENOENT the limiter daemon can't be reached$/]);
});
