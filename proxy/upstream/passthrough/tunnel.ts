/**
 * The two sockets of a WebSocket that http-proxy joins: their opening, their deadlines, and their
 * end, which is always the end of both. The sink sees the bytes that pass, and can't change them.
 * The errors of both sockets are handled here.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { heldResponseBytesMax, sessionIdleMs, tunnelLingerMs } from "../../../shared/bounds.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { ClientSocket } from "../../http/exchange.js";
import type { Deadlines, WatchedCall } from "../call-deadlines.js";
import { asUpstreamFailure, type UpstreamFailure } from "../errors/upstream-failure.js";
import type { TunnelCall, TunnelEnd, TunnelSink } from "./passthrough-upstream.js";

export class Tunnel implements TunnelCall, WatchedCall {
  idleTicks = 0;
  timeoutTicks = Infinity;
  watchIndex = -1;
  readonly #client: ClientSocket;
  readonly #sink: TunnelSink;
  readonly #deadlines: Deadlines;
  readonly #provider: ProviderConfig;
  #outgoing: ClientRequest | null = null;
  #isConnecting = false;
  /** The provider's side; null before the tunnel is open. */
  #remote: Duplex | null = null;
  /** Whether the provider owes an answer. */
  #answerExpected = false;
  #isClosing = false;
  /**
   * A call of `close` that arrived between the provider's answer and the joining of the sockets.
   */
  #closeOnceJoined: (() => void) | null = null;
  /** Whether the handshake has ended without a tunnel. */
  #refused = false;
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

  /** Called before http-proxy adds its listeners to the request. */
  beforeOpening(outgoing: ClientRequest): void {
    this.#outgoing = outgoing;
    outgoing.once("upgrade", (answer) => this.#open(answer));
  }

  /**
   * Called after http-proxy has added its listeners. Its pipes stay. Its handlers of errors and
   * answers are removed, because they would end the client's socket in the middle of Sluice's own
   * response.
   */
  afterOpening(outgoing: ClientRequest): void {
    outgoing
      .removeAllListeners("error")
      .on("error", (error) => this.#fail(asUpstreamFailure(error)));
    outgoing.removeAllListeners("response").on("response", (answer) => this.#onAnswer(answer));
    outgoing.once("upgrade", (_answer, remote) => this.#join(remote));
    outgoing.once("socket", (socket) => {
      this.#isConnecting = socket.connecting;
      if (this.#isConnecting) socket.once("connect", () => this.#awaitAnswer());
      // The socket, from an egress proxy, is connected already.
      else this.#awaitAnswer();
    });
    this.timeoutTicks = this.#deadlines.timeoutTicksFor(this.#provider.connectTimeoutMs);
    this.#deadlines.watch(this);
  }

  #awaitAnswer(): void {
    this.#isConnecting = false;
    this.idleTicks = 0;
    this.timeoutTicks = this.#deadlines.firstByteTimeoutTicks;
  }

  /** http-proxy writes the headers of this answer to the client. */
  #open(answer: IncomingMessage): void {
    this.#client.takeOver();
    const flat = this.#sink.onOpen(answer.rawHeaders);
    const headers: Record<string, string> = {};
    for (let i = 0; i < flat.length; i += 2) headers[flat[i]!] = flat[i + 1]!;
    answer.headers = headers;
  }

  /** Called after http-proxy has piped both sides. */
  #join(remote: Duplex): void {
    this.#remote = remote;
    this.idleTicks = 0;
    this.expect(this.#answerExpected);
    const { socket } = this.#client;
    socket.on("data", (chunk: Buffer) => {
      if (!this.#answerExpected) this.idleTicks = 0;
      if (!this.#isClosing) this.#sink.onFromClient(chunk);
    });
    remote.on("data", (chunk: Buffer) => {
      this.idleTicks = 0;
      if (!this.#isClosing) this.#sink.onFromProvider(chunk);
    });
    this.#watchSide(socket, remote, "client");
    this.#watchSide(remote, socket, "provider");
    // The client may just have left.
    if (socket.destroyed) remote.destroy();
    this.#closeOnceJoined?.();
  }

  #watchSide(side: Duplex, otherSide: Duplex, by: "client" | "provider"): void {
    side.once("end", () => this.#ended({ by, reason: null }));
    side.on("error", (error: NodeJS.ErrnoException) =>
      this.#ended({ by, reason: error.code ?? error.message }),
    );
    side.once("close", () => {
      this.#ended({ by, reason: side.readableEnded ? null : "it closed the connection" });
      // Bytes for the other side are still written. Bytes that it sends now are discarded.
      if (!otherSide.writableEnded) otherSide.end();
      otherSide.resume();
      if (--this.#sidesOpen === 0) this.#closed();
    });
  }

  /** One side has ended, so the other one has `tunnelLingerMs` to end too. */
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

  /** The provider doesn't switch protocols, so its answer goes to the client. */
  #onAnswer(answer: IncomingMessage): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    this.idleTicks = 0;
    const done = (): void => {
      if (!this.#refuse()) return;
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
    if (!this.#refuse()) return;
    this.#outgoing!.destroy();
    this.#sink.onFailure(failure);
  }

  /** Ends the handshake without a tunnel. False if the handshake has ended already. */
  #refuse(): boolean {
    if (this.#refused || this.#remote !== null) return false;
    this.#refused = true;
    this.#deadlines.unwatch(this);
    return true;
  }

  onTimedOut(): void {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#deadlines;
    if (this.#remote !== null)
      return this.#sink.onTimedOut(
        this.#answerExpected
          ? `the provider said nothing for ${idleTimeoutMs} ms`
          : `nothing was sent for ${sessionIdleMs} ms`,
      );
    this.#fail(
      this.#isConnecting
        ? { kind: "unreachable", reason: `no connection for ${this.#provider.connectTimeoutMs} ms` }
        : { kind: "timed_out", reason: `no response for ${firstByteTimeoutMs} ms` },
    );
  }

  expect(answer: boolean): void {
    if (answer !== this.#answerExpected) this.idleTicks = 0;
    this.#answerExpected = answer;
    if (this.#remote !== null)
      this.timeoutTicks = answer
        ? this.#deadlines.idleTimeoutTicks
        : this.#deadlines.timeoutTicksFor(sessionIdleMs);
  }

  close(toClient: Buffer, toProvider: Buffer, reason: string | null): void {
    const { socket } = this.#client;
    const remote = this.#remote;
    if (remote === null) {
      this.#closeOnceJoined = () => this.close(toClient, toProvider, reason);
      return;
    }
    this.#isClosing = true;
    socket.unpipe(remote);
    remote.unpipe(socket);
    this.#ended({ by: "proxy", reason });
    // Keep reading: closing a socket with unread data resets it, and loses the written bytes.
    socket.resume();
    remote.resume();
    socket.end(toClient);
    remote.end(toProvider);
  }

  abort(): void {
    if (this.#remote !== null) return this.#destroy();
    if (this.#refuse()) this.#outgoing!.destroy();
  }
}
