/**
 * The wire between a host and a real engine, as a test has it: it delays, damages what the engine
 * answers, stalls and cuts.
 */
import { once } from "node:events";
import net from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";

export interface EngineWire {
  readonly port: number;
  readonly url: string;
  /** Each way. */
  delayMs: number;
  /** What is passed on in place of what the engine answers; null: the connection is cut. */
  damage: ((answer: Buffer) => Buffer | null) | null;
  /** Ends all connections. */
  cut(): void;
}

export async function startWire(
  t: Pick<Test, "teardown">,
  enginePort: number,
  ownPort = 0,
): Promise<EngineWire> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const engine = net.connect(enginePort, "127.0.0.1");
    const end = (): void => {
      client.destroy();
      engine.destroy();
    };
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end).on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    pass(client, engine, (bytes) => bytes);
    pass(engine, client, (bytes) => (wire.damage === null ? bytes : wire.damage(bytes)));
  });
  /** In their order, however long each one waits. */
  function pass(from: net.Socket, to: net.Socket, change: (bytes: Buffer) => Buffer | null): void {
    let last: Promise<void> = Promise.resolve();
    from.on("data", (bytes: Buffer) => {
      const { delayMs } = wire;
      const due = delayMs === 0 ? null : delay(delayMs);
      const send = (): void => {
        const changed = change(bytes);
        if (changed === null) to.destroy();
        else if (!to.destroyed) to.write(changed);
      };
      last = last.then(() => due).then(send);
    });
  }
  server.listen(ownPort, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  const wire: EngineWire = {
    port,
    url: `valkey://127.0.0.1:${port}`,
    delayMs: 0,
    damage: null,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
  t.teardown(() => {
    server.close();
    wire.cut();
  });
  return wire;
}
