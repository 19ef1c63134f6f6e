/**
 * Shuts an HTTP server down: stops accepting, closes idle connections, waits for running requests,
 * and cuts the last ones. The header `Connection: close` of its answers is in `http-listener.ts`
 * and `node-exchange.ts`.
 */
import type { Server } from "node:http";
import net, { type Socket } from "node:net";
import type { ConnectionRoom } from "../../capacity/connection-room.js";
import type { Lingering } from "./lingering.js";

export interface DrainTimes {
  /**
   * How long idle connections stay open: a close would lose a request that a client is just
   * sending. With a successor on the same address, this server answers that request with
   * `Connection: close`, and the successor answers the next one.
   */
  readonly idleMs: number;
  /** When running requests are cut. */
  readonly runningMs: number;
}

interface DrainPorts {
  readonly connections: ConnectionRoom<Socket>;
  readonly lingering: Lingering;
  cut(socket: Socket): void;
}

const pollMs = 100;

export class ServerDrain {
  readonly #server: Server;
  readonly #ports: DrainPorts;
  #idleUntilMonoMs = Number.POSITIVE_INFINITY;
  #runningUntilMonoMs = Number.POSITIVE_INFINITY;
  #ended: Promise<void> | null = null;
  /** Whether `end` was called; read with every request. */
  hasBegun = false;

  constructor(server: Server, ports: DrainPorts) {
    this.#server = server;
    this.#ports = ports;
  }

  /** Resolves when no connection is open. A second call can only shorten the times. */
  end({ idleMs, runningMs }: DrainTimes): Promise<void> {
    this.hasBegun = true;
    const nowMonoMs = performance.now();
    this.#idleUntilMonoMs = Math.min(this.#idleUntilMonoMs, nowMonoMs + idleMs);
    this.#runningUntilMonoMs = Math.min(this.#runningUntilMonoMs, nowMonoMs + runningMs);
    this.#ended ??= this.#begin();
    this.#poll();
    return this.#ended;
  }

  #begin(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setInterval(() => this.#poll(), pollMs);
      // Not by the HTTP server's own method, which closes all idle connections immediately.
      net.Server.prototype.close.call(this.#server, () => {
        clearInterval(timer);
        // The last sockets end when this turn of the event loop closes.
        setImmediate(() => setImmediate(resolve));
      });
    });
  }

  #poll(): void {
    const { connections, lingering, cut } = this.#ports;
    const nowMonoMs = performance.now();
    if (nowMonoMs >= this.#idleUntilMonoMs) {
      this.#server.closeIdleConnections();
      lingering.end();
      // Node doesn't count a connection without a first request as idle; clients open such
      // connections in advance.
      for (const socket of connections.all()) if (socket.bytesRead === 0) socket.destroy();
    }
    if (nowMonoMs >= this.#runningUntilMonoMs) for (const socket of connections.all()) cut(socket);
  }
}
