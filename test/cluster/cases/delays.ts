/** An engine that is some way away: changes of other hosts are heard at once after each start. */
import t from "tap";
import { definitionsChannel } from "../../../limiterd/cluster/definitions/definition-engine.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { startHost, untilSo } from "../cluster-host.js";
import { startWire } from "../engine-wire.js";
import { connect, isConnected, publish } from "../watched-connection.js";

const skip = engineProgram === null && noEngine;
const channel = definitionsChannel("sluice");

t.test("who subscribes at any moment of a connection's start hears", { skip }, async (t) => {
  const engine = await startEngine(t);
  const near = connect(t, engine.url);
  await near.until(isConnected);
  for (const delayMs of [0, 18, 50]) {
    const wire = await startWire(t, engine.port);
    wire.delayMs = delayMs;
    const connections = Array.from({ length: 12 }, (_, i) => {
      const connection = connect(t, wire.url);
      const heard = new Promise<void>((resolve) => {
        const wait = setTimeout(
          () => connection.subscribe(`c${delayMs}`, () => resolve()),
          i * (10 + 2 * delayMs),
        );
        t.teardown(() => clearTimeout(wait));
      });
      return { connection, heard };
    });
    await Promise.all(connections.map(({ connection }) => connection.until(isConnected)));
    await untilSo(
      async () =>
        Number(((await engine.cli("PUBSUB", "NUMSUB", `c${delayMs}`)) as unknown[])[1]) === 12,
      `all are subscribed at ${delayMs} ms each way`,
    );
    await publish(near, `c${delayMs}`, "word");
    await Promise.all(connections.map(({ heard }) => heard));
    await untilSo(
      async () => connections.every(({ connection }) => connection.reception("x").isConfirmed),
      "what is published comes back",
    );
    await Promise.all(connections.map(({ connection }) => connection.close()));
  }
});

t.test("a subscription that is lost is made again, and said meanwhile", { skip }, async (t) => {
  const engine = await startEngine(t);
  const connection = connect(t, engine.url);
  let heard = 0;
  connection.subscribe("c", () => heard++);
  await connection.until(isConnected);
  const isConfirmed = async (): Promise<boolean> => connection.reception("c").isConfirmed;
  await untilSo(isConfirmed, "it is confirmed");
  t.equal(connection.reception("c").subscribers, 1);
  // The engine goes on, and doesn't deliver any more: as a wire that dropped the connection.
  await engine.cli("ACL", "SETUSER", "default", "resetchannels");
  await untilSo(async () => !(await isConfirmed()), "it isn't confirmed");
  await engine.cli("ACL", "SETUSER", "default", "allchannels");
  await untilSo(isConfirmed, "it is confirmed again");
  await publish(connection, "c", "word");
  await untilSo(async () => heard === 1, "a word is heard");
});

interface Status {
  readonly cluster: {
    readonly changes_heard: boolean;
    readonly changes_subscribers: number | null;
  };
}

t.test(
  "a deactivated key is refused on a host that is far from the engine",
  { skip },
  async (t) => {
    const engine = await startEngine(t);
    const wire = await startWire(t, engine.port);
    const a = await startHost(t, engine);
    const b = await startHost(t, { ...engine, url: wire.url });
    for (const delayMs of [0, 10, 18, 20, 22, 50, 100]) {
      wire.delayMs = delayMs;
      await b.restartDaemon();
      const after = await untilSo(async () => {
        // The proxy may not have met the new daemon yet.
        const { status, body } = await b.admin("GET", "status");
        if (status !== 200) return false;
        const { changes_heard: heard, changes_subscribers: count } = (body as Status).cluster;
        return heard && count === 2;
      }, "the status says that changes are heard");
      const [, count] = (await engine.cli("PUBSUB", "NUMSUB", channel)) as [string, number];
      t.equal(count, 2, `both listen, at ${delayMs} ms each way`);
      const { id, value } = (await a.admin("POST", "auth-keys", {})).body as Record<string, string>;
      await untilSo(async () => (await b.statusWith(value!)) === 200, "it is known");
      // Between two polls, so that the poll isn't what brings it.
      const took: number[] = [];
      const ended = await a.admin("POST", `auth-keys/${id}/deactivate`);
      t.ok(ended.status < 300);
      took.push(await untilSo(async () => (await b.statusWith(value!)) === 401, "it is refused"));
      t.ok(took[0]! < 3000, `refused after ${took[0]!.toFixed(0)} ms`);
      t.comment(
        `${2 * delayMs} ms to the engine and back: heard of changes ${after.toFixed(0)} ms after the start, a deactivated key refused after ${took[0]!.toFixed(0)} ms`,
      );
    }
  },
);
