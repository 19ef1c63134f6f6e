/**
 * The connection to the daemon, as the parts of the limiter client share it: whether the daemon has
 * welcomed this proxy and answers, what is sent to it, and since when it is gone. What the messages
 * mean is not here, and neither is the socket: `connect-limiter.ts` owns that.
 */
import type { LinkState } from "../../shared/api/gateway-status.js";
import { connectionsNamedMax, framesPerWindow, reconnectGraceMs } from "../../shared/bounds.js";
import type { ToDaemon, VerdictsRead } from "../../shared/wire/message-to-daemon.js";
import { type WireVersions, wireVersions } from "../../shared/wire/wire-versions.js";
import type { DaemonLine, LimiterClientPorts } from "./limiter-link.js";

type ConnectionPorts = Pick<
  LimiterClientPorts,
  "monoMs" | "schedule" | "onSilent" | "onAnswering" | "onLate"
>;

export class DaemonConnection {
  readonly #ports: ConnectionPorts;
  /** How long requests wait for an unreachable daemon, counted from its loss. */
  readonly #deadlineMs: number;
  #line: DaemonLine | null = null;
  #linked = false;
  #lostMonoMs: number;
  /** When the daemon's last message came. */
  #heardMonoMs: number;
  /** Null: it isn't silent. */
  #silentSinceMonoMs: number | null = null;
  #lastId = 0;
  readonly #versions: WireVersions;
  #offeredVersion: number;
  /** Whether the daemon doesn't speak the offered version. */
  #refused = false;
  /** Counts the connections with a welcome: others have no verdicts. */
  #number = 1;
  #verdictsRead = 0;
  #earlier: VerdictsRead["earlier"] = [];

  constructor(ports: ConnectionPorts, deadlineMs: number, versions = wireVersions) {
    this.#ports = ports;
    this.#versions = versions;
    this.#offeredVersion = versions.newest;
    this.#deadlineMs = deadlineMs;
    this.#lostMonoMs = this.#heardMonoMs = ports.monoMs();
  }

  get state(): LinkState {
    if (this.#line === null) return "away";
    if (this.silent) return "silent";
    return this.#linked ? "connected" : "away";
  }

  /** Whether the daemon has welcomed this proxy on the present connection. */
  get linked(): boolean {
    return this.#linked;
  }

  /** Whether the daemon takes settles: once it is linked, or refuses all else. */
  get takesSettles(): boolean {
    return this.#linked || (this.#refused && this.#offeredVersion === this.#versions.oldest);
  }

  /** The wire version of the next hello, and then of the connection. */
  get wireVersion(): number {
    return this.#offeredVersion;
  }

  /**
   * The daemon is connected, but silent: it is stopped, or stuck. When it goes on, it answers the
   * last question first. Until then the proxy sends no more.
   */
  get silent(): boolean {
    return this.#silentSinceMonoMs !== null;
  }

  /** How many verdicts that admit this proxy has read on this connection. */
  get verdictsRead(): number {
    return this.#verdictsRead;
  }

  readVerdict(): void {
    this.#verdictsRead++;
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /**
   * Only while linked, or a settle while those are taken; before that nothing but a hello is sent.
   */
  send(message: ToDaemon): void {
    this.#line!.send(message);
  }

  /** Sends messages, a window at a time, until there are no more or the connection is lost. */
  sendInWindows(messages: Iterator<ToDaemon, void>): void {
    const line = this.#line!;
    for (let left = framesPerWindow; left > 0; left--) {
      const next = messages.next();
      if (next.done === true) return;
      line.send(next.value);
    }
    line.whenSent(() => {
      if (line === this.#line) this.sendInWindows(messages);
    });
  }

  /** As in `DaemonLine`. */
  whenSent(run: () => void): void {
    this.#line!.whenSent(run);
  }

  /** Until when a message waits: `deadlineMs` if linked, else counted from the loss. */
  deadlineMonoMs(nowMonoMs: number, deadlineMs = this.#deadlineMs): number {
    return this.#linked ? nowMonoMs + deadlineMs : this.#lostMonoMs + this.#deadlineMs;
  }

  connected(line: DaemonLine): void {
    this.#line = line;
    this.#ports.schedule(this.#deadlineMs + reconnectGraceMs, () => {
      if (line === this.#line && !this.#linked && !this.#refused) this.#fallSilent();
    });
  }

  /**
   * The daemon doesn't speak the offered version. If there is an older one, the next connection
   * offers that; otherwise this one stays, for settles: it ends with the daemon, and the next one
   * may be of another release. Whether it stays.
   */
  refused(): boolean {
    if (this.#refused) return false;
    this.#refused = true;
    this.#silentSinceMonoMs = null;
    if (this.takesSettles) return true;
    this.#line!.close();
    return false;
  }

  /**
   * The first message after the welcome says which verdicts this proxy has read on earlier
   * connections. The daemon takes back what the others have counted, so that a request which is
   * sent again counts once.
   */
  welcomed(nowMonoMs: number): void {
    this.#linked = true;
    this.heard(nowMonoMs);
    this.send({ kind: "read", connection: this.#number, earlier: this.#earlier });
  }

  /** A message has come, of any kind. */
  heard(nowMonoMs: number): void {
    this.#heardMonoMs = nowMonoMs;
    if (!this.#linked || this.#silentSinceMonoMs === null) return;
    const silentMs = this.#heardMonoMs - this.#silentSinceMonoMs;
    this.#silentSinceMonoMs = null;
    this.#ports.onAnswering(silentMs);
  }

  /** A question that the daemon answers immediately was sent then, and its deadline has passed. */
  timedOut(askedMonoMs: number): void {
    if (!this.#linked || this.silent) return;
    if (this.#heardMonoMs > askedMonoMs) this.#ports.onLate();
    else this.#fallSilent();
  }

  /** Whether it was linked until now. */
  lost(): boolean {
    const wasLinked = this.#linked;
    const offersOlder = this.#refused && this.#offeredVersion > this.#versions.oldest;
    this.#offeredVersion = offersOlder ? this.#offeredVersion - 1 : this.#versions.newest;
    this.#line = null;
    this.#linked = this.#refused = false;
    // One that never welcomes stays silent over all attempts, and is reported once.
    if (wasLinked) {
      this.#lostMonoMs = this.#ports.monoMs();
      this.#silentSinceMonoMs = null;
      const last = [this.#number++, this.#verdictsRead] as const;
      this.#earlier = [...this.#earlier, last].slice(-connectionsNamedMax);
      this.#verdictsRead = 0;
    }
    return wasLinked;
  }

  #fallSilent(): void {
    if (this.silent) return;
    this.#silentSinceMonoMs = this.#ports.monoMs();
    this.#ports.onSilent(this.#linked);
  }
}
