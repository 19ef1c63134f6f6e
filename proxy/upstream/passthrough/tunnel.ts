/**
 * The two sockets of a WebSocket that http-proxy joins: their opening, their deadlines, and their
 * end, which is always the end of both. What passes is shown to a sink after it has passed, and is
 * never touched. A socket's error ends here.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { heldResponseBytesMax, sessionIdleMs, tunnelLingerMs } from "../../../shared/bounds.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { ClientSocket } from "../../http/exchange.js";
import type { Deadlines } from "../call-deadlines.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import { asUpstreamFailure } from "../errors/upstream-failure.js";
import type { Watched } from "../timeout-watch.js";
import type { TunnelCall, TunnelEnd, TunnelSink } from "./passthrough-upstream.js";

export class Tunnel implements TunnelCall, Watched {
  idleTicks = 0;
  timeoutTicks = Infinity;
  watchIndex = -1;
  readonly #client: ClientSocket;
  readonly #sink: TunnelSink;
  readonly #deadlines: Deadlines;
  readonly #provider: ProviderConfig;
  #outgoing: ClientRequest | null = null;
  #connecting = false;
  /** Open: the provider's side. */
  #remote: Duplex | null = null;
  /** Whether the provider owes an answer. */
  #expecting = false;
  #leaving = false;
  /** It was to be left in the very turn in which it opened. */
  #leaveAtOnce: (() => void) | null = null;
  /** The handshake has failed, or was answered. */
  #over = false;
  #end: TunnelEnd | null = null;
  #lingering: NodeJS.Timeout | null = null;
  #sidesOpen = 2;

  constructor(
    client: ClientSocket,
    sink: TunnelSink,
    deadlines: Deadlines,
    provider: ProviderConfig,
  ) {
    this.#client = client;
    this.#sink = sink;
    this.#deadlines = deadlines;
    this.#provider = provider;
  }

  /** Before http-proxy listens to its request. */
  beforeOpening(outgoing: ClientRequest): void {
    this.#outgoing = outgoing;
    outgoing.once("upgrade", (answer) => this.#open(answer));
  }

  /**
   * After http-proxy has listened: its pipes stay, its handling of errors and answers, which ends
   * the client's socket in the middle of ours, goes.
   */
  afterOpening(outgoing: ClientRequest): void {
    outgoing
      .removeAllListeners("error")
      .on("error", (error) => this.#fail(asUpstreamFailure(error)));
    outgoing.removeAllListeners("response").on("response", (answer) => this.#onAnswer(answer));
    outgoing.once("upgrade", (_answer, remote) => this.#join(remote));
    outgoing.once("socket", (socket) => {
      this.#connecting = socket.connecting;
      socket.once("connect", () => {
        this.#connecting = false;
        this.idleTicks = 0;
        this.timeoutTicks = this.#deadlines.firstByteTimeoutTicks;
      });
    });
    this.timeoutTicks = this.#deadlines.timeoutTicksFor(this.#provider.connectTimeoutMs);
    this.#deadlines.watch(this);
  }

  /** http-proxy writes the head that it finds in the answer. */
  #open(answer: IncomingMessage): void {
    this.#client.takeOver();
    const flat = this.#sink.onOpen(answer.rawHeaders);
    const headers: Record<string, string> = {};
    for (let i = 0; i < flat.length; i += 2) headers[flat[i]!] = flat[i + 1]!;
    answer.headers = headers;
  }

  /** Both sides are piped by now. */
  #join(remote: Duplex): void {
    this.#remote = remote;
    this.idleTicks = 0;
    this.expect(this.#expecting);
    const { socket } = this.#client;
    socket.on("data", (chunk: Buffer) => {
      if (!this.#expecting) this.idleTicks = 0;
      if (!this.#leaving) this.#sink.onFromClient(chunk);
    });
    remote.on("data", (chunk: Buffer) => {
      this.idleTicks = 0;
      if (!this.#leaving) this.#sink.onFromProvider(chunk);
    });
    this.#watchSide(socket, remote, "client");
    this.#watchSide(remote, socket, "provider");
    // It may have gone in the very moment.
    if (socket.destroyed) remote.destroy();
    this.#leaveAtOnce?.();
  }

  #watchSide(side: Duplex, other: Duplex, by: "client" | "provider"): void {
    side.once("end", () => this.#ended({ by, reason: null }));
    side.on("error", (error: NodeJS.ErrnoException) =>
      this.#ended({ by, reason: error.code ?? error.message }),
    );
    side.once("close", () => {
      this.#ended({ by, reason: side.readableEnded ? null : "it closed the connection" });
      // What has come for the other side is still written; what that one says now, nobody waits
      // for.
      if (!other.writableEnded) other.end();
      other.resume();
      if (--this.#sidesOpen === 0) this.#closed();
    });
  }

  /** One side has ended: the other one has a moment to do so too. */
  #ended(end: TunnelEnd): void {
    this.#end ??= end;
    this.#lingering ??= setTimeout(() => this.#destroy(), tunnelLingerMs);
  }

  #destroy(): void {
    this.#client.socket.destroy();
    this.#remote?.destroy();
  }

  #closed(): void {
    this.#deadlines.unwatch(this);
    if (this.#lingering !== null) clearTimeout(this.#lingering);
    this.#sink.onEnd(this.#end!);
  }

  /** It doesn't switch. Whatever else it says, it is the client's answer. */
  #onAnswer(answer: IncomingMessage): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    this.idleTicks = 0;
    const done = (): void => {
      if (!this.#finish()) return;
      this.#sink.onAnswer(answer.statusCode!, answer.rawHeaders, Buffer.concat(chunks));
      this.#outgoing!.destroy();
    };
    answer.on("data", (chunk: Buffer) => {
      this.idleTicks = 0;
      bytes += chunk.length;
      if (bytes > heldResponseBytesMax) done();
      else chunks.push(chunk);
    });
    answer.on("end", done);
    answer.on("error", (error) => this.#fail(asUpstreamFailure(error)));
  }

  #fail(failure: UpstreamFailure): void {
    if (!this.#finish()) return;
    this.#outgoing!.destroy();
    this.#sink.onFailure(failure);
  }

  /** The handshake is over without a tunnel. False: it was before, or there is one. */
  #finish(): boolean {
    if (this.#over || this.#remote !== null) return false;
    this.#over = true;
    this.#deadlines.unwatch(this);
    return true;
  }

  onTimedOut(): void {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#deadlines;
    if (this.#remote !== null)
      return this.#sink.onTimedOut(
        this.#expecting
          ? `the provider said nothing for ${idleTimeoutMs} ms`
          : `nobody said anything for ${sessionIdleMs} ms`,
      );
    this.#fail(
      this.#connecting
        ? { kind: "unreachable", reason: `no connection for ${this.#provider.connectTimeoutMs} ms` }
        : { kind: "timed_out", reason: `no response for ${firstByteTimeoutMs} ms` },
    );
  }

  expect(answer: boolean): void {
    if (answer !== this.#expecting) this.idleTicks = 0;
    this.#expecting = answer;
    if (this.#remote !== null)
      this.timeoutTicks = answer
        ? this.#deadlines.idleTimeoutTicks
        : this.#deadlines.timeoutTicksFor(sessionIdleMs);
  }

  leave(toClient: Buffer, toProvider: Buffer, reason: string | null): void {
    const { socket } = this.#client;
    const remote = this.#remote;
    if (remote === null) {
      this.#leaveAtOnce = () => this.leave(toClient, toProvider, reason);
      return;
    }
    this.#leaving = true;
    socket.unpipe(remote);
    remote.unpipe(socket);
    this.#ended({ by: "proxy", reason });
    // Read on: a socket that is closed with something unread takes back what it has just said.
    socket.resume();
    remote.resume();
    socket.end(toClient);
    remote.end(toProvider);
  }

  abort(): void {
    if (this.#remote !== null) return this.#destroy();
    if (this.#finish()) this.#outgoing!.destroy();
  }
}
