/**
 * The state of the connection to the daemon, shared by the parts of the limiter client: whether the
 * daemon has welcomed this proxy and answers, and since when it is gone; and sending. Not here: the
 * meaning of messages, and the socket (`connect-limiter.ts`).
 */
import type { LinkState } from "../../shared/api/gateway-status.js";
import { connectionsNamedMax, framesPerWindow, reconnectGraceMs } from "../../shared/bounds.js";
import type { ToDaemon, VerdictsRead } from "../../shared/wire/message-to-daemon.js";
import { type WireVersions, wireVersions } from "../../shared/wire/wire-versions.js";

/** What the limiter client and its parts need from outside, and the events that they report. */
export interface LimiterClientPorts {
  readonly proxyId: string;
  /** Monotonic milliseconds. */
  monoMs(): number;
  schedule(ms: number, run: () => void): void;
  /** Runs `run` once the messages of this turn of the event loop have been sent. */
  afterTurn(run: () => void): void;
  onLinkChange(isLinked: boolean): void;
  /**
   * The connected daemon has missed a deadline without sending anything: with `wasLinked`, that of
   * an admission or a check of a caller; otherwise that of the welcome.
   */
  onSilent(wasLinked: boolean): void;
  /** A silent daemon has sent a message again. */
  onAnswering(silentMs: number): void;
  /** A daemon that isn't silent missed the deadline of a question: too much is queued for it. */
  onLate(): void;
  /**
   * The daemon supports none of this proxy's wire versions, as `message` says: it accepts only
   * settle messages.
   */
  onRefused(message: string): void;
  /** The oldest settle was dropped: too many are queued. */
  onDropped(): void;
}

/** One connection to the daemon, as the limiter client sees it. */
export interface DaemonLine {
  send(message: ToDaemon): void;
  /**
   * Runs `run` once the kernel has accepted all that was sent; never if the connection is lost
   * first.
   */
  whenSent(run: () => void): void;
  close(): void;
}

type ConnectionPorts = Pick<
  LimiterClientPorts,
  "monoMs" | "schedule" | "onSilent" | "onAnswering" | "onLate"
>;

export class DaemonConnection {
  readonly #ports: ConnectionPorts;
  /** How long requests wait for an unreachable daemon, from the loss of the connection. */
  readonly #deadlineMs: number;
  #line: DaemonLine | null = null;
  #isLinked = false;
  #lostMonoMs: number;
  /** The time of the daemon's last message. */
  #heardMonoMs: number;
  /** Null unless the daemon is silent. */
  #silentSinceMonoMs: number | null = null;
  #lastId = 0;
  readonly #versions: WireVersions;
  #offeredVersion: number;
  /** Whether the daemon doesn't support the offered version. */
  #isRefused = false;
  /** The number of this connection among those with a welcome; others have no verdicts. */
  #connectionNumber = 1;
  #verdictsRead = 0;
  #earlierVerdictsRead: VerdictsRead["earlier"] = [];

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
    return this.#isLinked ? "connected" : "away";
  }

  /** Whether the daemon has welcomed this proxy on this connection. */
  get linked(): boolean {
    return this.#isLinked;
  }

  /** Whether the daemon accepts settles: once linked, or if it accepts nothing else. */
  get takesSettles(): boolean {
    return this.#isLinked || (this.#isRefused && this.#offeredVersion === this.#versions.oldest);
  }

  /** The wire version of the next hello, and then of the connection. */
  get wireVersion(): number {
    return this.#offeredVersion;
  }

  /**
   * Whether the daemon is connected but silent: stopped or stuck. When it resumes, it answers the
   * last question first. Until then the proxy sends nothing more.
   */
  get silent(): boolean {
    return this.#silentSinceMonoMs !== null;
  }

  /** The number of admitting verdicts read on this connection. */
  get verdictsRead(): number {
    return this.#verdictsRead;
  }

  countVerdict(): void {
    this.#verdictsRead++;
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /**
   * Requires a link; a settle also may be sent while settles are accepted. Before that only a hello
   * is sent.
   */
  send(message: ToDaemon): void {
    this.#line!.send(message);
  }

  /** Sends messages in windows until all are sent or the connection is lost. */
  sendInWindows(messages: Iterator<ToDaemon, void>): void {
    const line = this.#line!;
    for (let remaining = framesPerWindow; remaining > 0; remaining--) {
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

  /** When a message expires: after `deadlineMs` if linked, else counted from the loss. */
  deadlineMonoMs(nowMonoMs: number, deadlineMs = this.#deadlineMs): number {
    return this.#isLinked ? nowMonoMs + deadlineMs : this.#lostMonoMs + this.#deadlineMs;
  }

  onConnect(line: DaemonLine): void {
    this.#line = line;
    this.#ports.schedule(this.#deadlineMs + reconnectGraceMs, () => {
      if (line === this.#line && !this.#isLinked && !this.#isRefused) this.#fallSilent();
    });
  }

  /**
   * The daemon doesn't support the offered version. If there is an older one, the next connection
   * offers that. Otherwise this connection stays open for settles until the daemon, which may be
   * replaced by another release, ends. Returns whether it stays.
   */
  onRefused(): boolean {
    if (this.#isRefused) return false;
    this.#isRefused = true;
    this.#silentSinceMonoMs = null;
    if (this.takesSettles) return true;
    this.#line!.close();
    return false;
  }

  /**
   * The first message after the welcome reports which verdicts this proxy has read on earlier
   * connections. The daemon undoes the counts of the others, so that a request which is sent again
   * counts once.
   */
  onWelcome(nowMonoMs: number): void {
    this.#isLinked = true;
    this.noteMessage(nowMonoMs);
    this.send({
      kind: "read",
      connection: this.#connectionNumber,
      earlier: this.#earlierVerdictsRead,
    });
  }

  /** A message has arrived, of any kind. */
  noteMessage(nowMonoMs: number): void {
    this.#heardMonoMs = nowMonoMs;
    if (!this.#isLinked || this.#silentSinceMonoMs === null) return;
    const silentMs = this.#heardMonoMs - this.#silentSinceMonoMs;
    this.#silentSinceMonoMs = null;
    this.#ports.onAnswering(silentMs);
  }

  /**
   * A question sent at that time, which the daemon answers immediately, has passed its deadline.
   */
  timedOut(askedMonoMs: number): void {
    if (!this.#isLinked || this.silent) return;
    if (this.#heardMonoMs > askedMonoMs) this.#ports.onLate();
    else this.#fallSilent();
  }

  /** Returns whether the daemon was linked until now. */
  onDisconnect(): boolean {
    const wasLinked = this.#isLinked;
    const offersOlder = this.#isRefused && this.#offeredVersion > this.#versions.oldest;
    this.#offeredVersion = offersOlder ? this.#offeredVersion - 1 : this.#versions.newest;
    this.#line = null;
    this.#isLinked = this.#isRefused = false;
    // A daemon that never welcomes stays silent over all attempts and is reported once.
    if (wasLinked) {
      this.#lostMonoMs = this.#ports.monoMs();
      this.#silentSinceMonoMs = null;
      const last = [this.#connectionNumber++, this.#verdictsRead] as const;
      this.#earlierVerdictsRead = [...this.#earlierVerdictsRead, last].slice(-connectionsNamedMax);
      this.#verdictsRead = 0;
    }
    return wasLinked;
  }

  #fallSilent(): void {
    if (this.silent) return;
    this.#silentSinceMonoMs = this.#ports.monoMs();
    this.#ports.onSilent(this.#isLinked);
  }
}
