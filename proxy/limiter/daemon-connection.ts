/**
 * The connection to the daemon, as the parts of the limiter client share it: whether the daemon has
 * welcomed this proxy, what is sent to it, and since when it is gone. What the messages mean is not
 * here, and neither is the socket: `connect-limiter.ts` owns that.
 */
import type { ToDaemon } from "../../shared/wire/message-to-daemon.js";
import type { DaemonLine } from "./limiter-link.js";

export class DaemonConnection {
  /** How long requests wait for an unreachable daemon, counted from its loss. */
  readonly #deadlineMs: number;
  #line: DaemonLine | null = null;
  #linked = false;
  #lostMonoMs: number;
  #lastId = 0;
  /**
   * False from an admission that expired while linked until the next message of the
   * daemon.
   */
  answering = true;

  constructor(deadlineMs: number, nowMonoMs: number) {
    this.#deadlineMs = deadlineMs;
    this.#lostMonoMs = nowMonoMs;
  }

  /** Whether the daemon has welcomed this proxy on the present connection. */
  get linked(): boolean {
    return this.#linked;
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /** Only while linked; before the welcome nothing but a hello is sent. */
  send(message: ToDaemon): void {
    this.#line!.send(message);
  }

  /** As in `DaemonLine`; only while linked. */
  whenSent(run: () => void): void {
    this.#line!.whenSent(run);
  }

  /** Until when a message waits: `deadlineMs` if linked, else counted from the loss. */
  deadlineMonoMs(nowMonoMs: number, deadlineMs = this.#deadlineMs): number {
    return this.#linked ? nowMonoMs + deadlineMs : this.#lostMonoMs + this.#deadlineMs;
  }

  connected(line: DaemonLine): void {
    this.#line = line;
  }

  welcomed(): void {
    this.#linked = true;
  }

  /** Whether it was linked until now. */
  lost(nowMonoMs: number): boolean {
    const wasLinked = this.#linked;
    this.#line = null;
    this.#linked = false;
    if (wasLinked) this.#lostMonoMs = nowMonoMs;
    return wasLinked;
  }
}
