import t from "tap";
import { DaemonConnection } from "../../../proxy/limiter/daemon-connection.js";
import { connectionsNamedMax, framesPerWindow, reconnectGraceMs } from "../../../shared/bounds.js";
import type { ToDaemon, VerdictsRead } from "../../../shared/wire/message-to-daemon.js";

const deadlineMs = 2_000;

class Scene {
  nowMs = 1_000;
  readonly events: string[] = [];
  readonly timers: { readonly ms: number; readonly run: () => void }[] = [];
  readonly connection: DaemonConnection;

  constructor(versions = { oldest: 3, newest: 5 }) {
    this.connection = new DaemonConnection(
      {
        monoMs: () => this.nowMs,
        schedule: (ms, run) => void this.timers.push({ ms, run }),
        onSilent: (wasLinked) => void this.events.push(`silent ${wasLinked}`),
        onAnswering: (silentMs) => void this.events.push(`answers after ${silentMs}`),
        onLate: () => void this.events.push("late"),
      },
      deadlineMs,
      versions,
    );
  }

  /** A new connection; what was sent, and what waits for it to be sent. */
  connect() {
    const sent: ToDaemon[] = [];
    const waiting: (() => void)[] = [];
    let closed = 0;
    this.connection.onConnect({
      send: (message) => void sent.push(message),
      whenSent: (run) => void waiting.push(run),
      close: () => void closed++,
    });
    return {
      sent,
      waiting,
      get closed() {
        return closed;
      },
    };
  }
}

const messages = function* (count: number): Generator<ToDaemon> {
  for (let id = 0; id < count; id++) yield { kind: "test", id } as never;
};

t.test("a daemon is away until it welcomes, and away again when it is lost", async (t) => {
  const scene = new Scene();
  const { connection } = scene;
  const now = (): unknown => [connection.state, connection.linked];
  t.same(now(), ["away", false]);
  scene.connect();
  t.same(now(), ["away", false]);
  connection.onWelcome(scene.nowMs);
  t.same(now(), ["connected", true]);
  t.equal(connection.onDisconnect(), true);
  t.same(now(), ["away", false]);
  t.equal(connection.onDisconnect(), false, "it wasn't linked any more");
  t.same(scene.events, []);
});

t.test("deadlines count from now while it is linked, and from its loss otherwise", async (t) => {
  const scene = new Scene();
  const { connection } = scene;
  t.equal(connection.deadlineMonoMs(5_000), 1_000 + deadlineMs, "from the start");
  t.equal(connection.deadlineMonoMs(5_000, 50), 1_000 + deadlineMs);
  scene.connect();
  connection.onWelcome(scene.nowMs);
  t.equal(connection.deadlineMonoMs(5_000), 5_000 + deadlineMs);
  t.equal(connection.deadlineMonoMs(5_000, 50), 5_050);
  scene.nowMs = 9_000;
  connection.onDisconnect();
  t.equal(connection.deadlineMonoMs(9_500), 9_000 + deadlineMs);
  scene.connect();
  scene.nowMs = 9_900;
  connection.onDisconnect();
  t.equal(connection.deadlineMonoMs(9_950), 9_000 + deadlineMs, "an attempt is no loss");
});

t.test("a daemon that doesn't welcome in time is silent, once", async (t) => {
  const scene = new Scene();
  const { connection } = scene;
  scene.connect();
  t.same(
    scene.timers.map(({ ms }) => ms),
    [deadlineMs + reconnectGraceMs],
  );
  scene.timers[0]!.run();
  t.same([connection.state, connection.silent], ["silent", true]);
  connection.onDisconnect();
  t.equal(connection.state, "away");
  scene.connect();
  scene.timers[1]!.run();
  t.same(scene.events, ["silent false"], "over all attempts");
  scene.nowMs = 4_000;
  connection.onWelcome(scene.nowMs);
  t.same(scene.events, ["silent false", "answers after 3000"]);
  t.equal(connection.state, "connected");
});

t.test("no timer waits for a welcome that came, or of a closed connection", async (t) => {
  const scene = new Scene();
  scene.connect();
  scene.connection.onWelcome(scene.nowMs);
  scene.timers[0]!.run();
  scene.connection.onDisconnect();
  scene.connect();
  scene.connection.onDisconnect();
  scene.timers[1]!.run();
  scene.connect();
  scene.timers[1]!.run();
  t.same([scene.events, scene.connection.silent], [[], false]);
});

t.test("an unanswered question makes it silent if nothing came since, else late", async (t) => {
  const scene = new Scene();
  const { connection } = scene;
  connection.timedOut(0);
  scene.connect();
  connection.timedOut(0);
  t.same(scene.events, [], "it isn't linked");
  connection.onWelcome(scene.nowMs);
  scene.nowMs = 2_000;
  connection.noteMessage(scene.nowMs);
  connection.timedOut(1_999);
  t.same(scene.events, ["late"]);
  connection.timedOut(2_000);
  t.same([scene.events, connection.state], [["late", "silent true"], "silent"]);
  connection.timedOut(2_001);
  t.same(scene.events.length, 2, "it is known");
  scene.nowMs = 2_500;
  connection.noteMessage(scene.nowMs);
  t.same([scene.events.at(-1), connection.state], ["answers after 500", "connected"]);
  connection.noteMessage(scene.nowMs);
  t.same(scene.events.length, 3);
});

t.test("a linked daemon that was silent isn't any more once it is lost", async (t) => {
  const scene = new Scene();
  scene.connect();
  scene.connection.onWelcome(scene.nowMs);
  scene.connection.timedOut(scene.nowMs);
  t.equal(scene.connection.silent, true);
  scene.connection.onDisconnect();
  t.equal(scene.connection.silent, false);
});

t.test("messages leave in windows, the next one when the last is sent", async (t) => {
  const scene = new Scene();
  const line = scene.connect();
  scene.connection.sendInWindows(messages(2 * framesPerWindow + 1));
  t.same([line.sent.length, line.waiting.length], [framesPerWindow, 1]);
  line.waiting[0]!();
  line.waiting[1]!();
  t.same([line.sent.length, line.waiting.length], [2 * framesPerWindow + 1, 2]);
  scene.connection.sendInWindows(messages(framesPerWindow + 1));
  scene.connection.onDisconnect();
  const next = scene.connect();
  line.waiting[2]!();
  t.same([line.sent.length, next.sent.length], [3 * framesPerWindow + 1, 0], "a lost one's end");
});

t.test("ids ascend over all connections", async (t) => {
  const scene = new Scene();
  t.same([scene.connection.nextId(), scene.connection.nextId()], [1, 2]);
  scene.connect();
  scene.connection.onDisconnect();
  t.equal(scene.connection.nextId(), 3);
});

t.test("a silent daemon that refuses isn't silent any more", async (t) => {
  const scene = new Scene({ oldest: 5, newest: 5 });
  const { connection } = scene;
  scene.connect();
  scene.timers[0]!.run();
  t.equal(connection.silent, true);
  t.equal(connection.onRefused(), true);
  t.same([connection.silent, scene.events], [false, ["silent false"]]);
});

t.test(
  "an older version is offered after a refusal; the oldest one stays, for settles",
  async (t) => {
    const scene = new Scene({ oldest: 4, newest: 5 });
    const { connection } = scene;
    t.equal(connection.wireVersion, 5);
    const first = scene.connect();
    t.equal(connection.takesSettles, false);
    t.equal(connection.onRefused(), false);
    t.equal(connection.onRefused(), false, "once");
    t.equal(first.closed, 1);
    scene.timers[0]!.run();
    t.equal(connection.silent, false, "it has answered");
    connection.onDisconnect();
    t.equal(connection.wireVersion, 4);
    const second = scene.connect();
    t.equal(connection.takesSettles, false);
    t.equal(connection.onRefused(), true);
    t.same([second.closed, connection.takesSettles, connection.linked], [0, true, false]);
    connection.onDisconnect();
    t.equal(connection.wireVersion, 5, "the next daemon may be of another release");
    t.equal(connection.takesSettles, false);
    scene.connect();
    connection.onWelcome(scene.nowMs);
    t.equal(connection.takesSettles, true);
  },
);

/** A connection on which so many verdicts come; what the welcome was answered with. */
function connection({ connection }: Scene, send: (message: ToDaemon) => void, verdicts: number) {
  connection.onConnect({ send, whenSent: () => {}, close: () => {} });
  connection.onWelcome(1_000);
  for (let i = 0; i < verdicts; i++) connection.countVerdict();
  const count = connection.verdictsRead;
  connection.onDisconnect();
  return count;
}

t.test(
  "a connection is named by its number, those before it by what was read of them",
  async (t) => {
    const scene = new Scene();
    const sent: ToDaemon[] = [];
    scene.connect();
    scene.connection.onDisconnect();
    for (const verdicts of [2, 1, 0])
      t.equal(
        connection(scene, (message) => sent.push(message), verdicts),
        verdicts,
      );
    t.same(sent, [
      { kind: "read", connection: 1, earlier: [] },
      { kind: "read", connection: 2, earlier: [[1, 2]] },
      {
        kind: "read",
        connection: 3,
        earlier: [
          [1, 2],
          [2, 1],
        ],
      },
    ]);
  },
);

t.test("of many connections the last ones are named", async (t) => {
  const scene = new Scene();
  let last: ToDaemon | undefined;
  for (let i = 0; i <= connectionsNamedMax + 3; i++)
    connection(
      scene,
      (message) => {
        last = message;
      },
      0,
    );
  const { earlier, ...rest } = last as VerdictsRead;
  t.same(rest, { kind: "read", connection: connectionsNamedMax + 4 });
  t.equal(earlier.length, connectionsNamedMax);
  t.same(
    [earlier[0], earlier.at(-1)],
    [
      [4, 0],
      [connectionsNamedMax + 3, 0],
    ],
  );
});
