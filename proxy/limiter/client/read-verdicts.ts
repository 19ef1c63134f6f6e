/**
 * How many verdicts that admit this proxy has read, on this connection and on those before it: the
 * daemon takes back what others have counted, so that a request which is asked for again counts
 * once.
 */
import { connectionsNamedMax } from "../../../shared/bounds.js";
import type { VerdictsRead } from "../../../shared/wire/message-to-daemon.js";

export class ReadVerdicts {
  /** Connections without a welcome have no verdicts, and no number. */
  #connection = 1;
  #read = 0;
  #earlier: readonly (readonly [connection: number, read: number])[] = [];

  /** On this connection. */
  get count(): number {
    return this.#read;
  }

  /** What a daemon is told that has just welcomed this proxy. */
  message(): VerdictsRead {
    return { kind: "read", connection: this.#connection, earlier: this.#earlier };
  }

  readOne(): void {
    this.#read++;
  }

  /** A connection on which this proxy was welcomed is lost. */
  connectionLost(): void {
    const last = [this.#connection, this.#read] as const;
    this.#earlier = [...this.#earlier, last].slice(-connectionsNamedMax);
    this.#connection++;
    this.#read = 0;
  }
}
