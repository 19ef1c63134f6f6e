/** Both ends of the socket, as tests watch them. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import {
  type DialOptions,
  dial,
  type Listener,
  type ListenOptions,
  listen,
} from "../../../shared/socket/ipc.js";
import type { Peer } from "../../../shared/socket/socket-peer.js";

export function temporary(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-ipc-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What happened, in order, and a way to wait for it. */
export class Observed {
  readonly events: string[] = [];
  readonly peers: Peer[] = [];
  bytes = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  saw(event: string): void {
    this.events.push(event);
    for (const run of this.#waiting.splice(0)) run();
  }

  /** Resolved once it holds; the test's own timeout is the bound. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  readonly handlers = {
    onConnect: (peer: Peer): void => {
      this.peers.push(peer);
      this.saw("connect");
    },
    onBytes: (_peer: Peer, bytes: Buffer): void => {
      this.bytes = Buffer.concat([this.bytes, bytes]);
      this.saw(`bytes ${bytes.length}`);
    },
    onClose: (peer: Peer): void => this.saw(`close ${this.peers.indexOf(peer)}`),
  };

  count(event: string): number {
    return this.events.filter((seen) => seen === event).length;
  }
}

export async function listening(
  t: Test,
  path: string,
  options: Partial<ListenOptions> = {},
): Promise<Observed & { readonly listener: Listener }> {
  const observed = new Observed();
  const listener = await listen({ path, allowsGroup: false, ...observed.handlers, ...options });
  t.teardown(() => listener.close());
  return Object.assign(observed, { listener });
}

/** A client; with `retry` it comes back until the test ends. */
export function dialling(
  t: Test,
  path: string,
  options: Partial<DialOptions> = {},
): Observed & { readonly link: { close(): void } } {
  const observed = new Observed();
  const link = dial({
    path,
    mayRetry: false,
    ...observed.handlers,
    onError: (error) => observed.saw(`error ${error.code}`),
    ...options,
  });
  t.teardown(() => link.close());
  return Object.assign(observed, { link });
}

/** A plain socket, for peers that don't behave. */
export async function rawClient(t: Test, path: string): Promise<net.Socket> {
  const socket = net.connect({ path });
  socket.on("error", () => {});
  t.teardown(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** One end of a connection in a process of its own, to be killed. */
export function startEnd(t: Test, path: string, end: "listen" | "dial"): ChildProcess {
  const child = fork(
    new URL("../../support/processes/socket-end.js", import.meta.url),
    [path, end],
    { silent: true, execArgv: [] },
  );
  t.teardown(() => void child.kill("SIGKILL"));
  return child;
}
