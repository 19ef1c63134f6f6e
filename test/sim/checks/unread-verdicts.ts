/**
 * Which verdicts that admit a proxy has never read, seen from outside: by what its socket's end
 * has delivered to it, not by what it says. What they counted must be taken back when it connects
 * again.
 */
import type { WitnessedRequest } from "./crash-losses.js";

/** The daemon's end of a connection. */
type End = object;

interface Verdicts {
  readonly proxyId: string;
  readonly end: End;
  /** What each has counted, in their order. */
  readonly counted: (readonly WitnessedRequest[])[];
}

export class UnreadVerdictLog {
  readonly #read = new WeakMap<End, number>();
  #connections: Verdicts[] = [];

  /** A proxy has read a verdict that admits on the connection with this other end. */
  read(end: End): void {
    this.#read.set(end, (this.#read.get(end) ?? 0) + 1);
  }

  /** The daemon sends one. */
  sent(proxyId: string, end: End, counted: readonly WitnessedRequest[]): void {
    let connection = this.#connections.find((known) => known.end === end);
    if (connection === undefined) {
      connection = { proxyId, end, counted: [] };
      this.#connections.push(connection);
    }
    connection.counted.push(counted);
  }

  /** What those have counted that the proxy hasn't read on its connections but the present one. */
  unread(proxyId: string, present: End | null = null): readonly WitnessedRequest[] {
    return this.#connections
      .filter((known) => known.proxyId === proxyId && known.end !== present)
      .flatMap(({ end, counted }) => counted.slice(this.#read.get(end) ?? 0).flat());
  }
}
