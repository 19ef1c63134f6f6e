/** What the matrix knows of a client, and asks of it. */

/** What a client is asked to do, in this order. */
export const steps = [
  "task",
  "again",
  "stream",
  "json",
  "picture",
  "count",
  "abort",
  "busy",
  "day",
  "cap",
  "compact",
  "after",
  "search",
] as const;

export type Step = (typeof steps)[number];

/** The dialect that a client speaks. */
export type ClientDialect = "chat" | "messages" | "responses" | "google";

/** One step of one client on one provider. */
export interface Job {
  readonly step: Step;
  /** Sluice's address, without a path. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  /** Where the client keeps what it remembers between steps; the notes are in it, too. */
  readonly directory: string;
  readonly prompt: string;
  /** Resolved when it is time to leave in the middle of an answer. */
  readonly leave: Promise<void>;
}

/**
 * By when a client must have ended a step: far later than it takes, since the machine may have much
 * else to do.
 */
export const deadlineMs = 300_000;

export interface Outcome {
  /** Whether the client itself says that it has done it. */
  readonly succeeded: boolean;
  /** Whether it was ended at the deadline. */
  readonly isLate: boolean;
  /** Everything that it said. */
  readonly output: string;
}

export interface Client {
  readonly id: string;
  /** As people know it, with its version. */
  readonly title: string;
  readonly dialect: ClientDialect;
  readonly steps: readonly Step[];
  /** Whether its sessions are also moved between models of two accounts, in its own dialect. */
  readonly movesSessions?: boolean;
  /** The providers that it is tried with, where that isn't all of them. */
  readonly hosts?: readonly string[];
  /** How often it is refused before it stops at a day's limit, where that is more than usual. */
  readonly dayRefusalsMax?: number;
  /** For docs/clients.md: how it is pointed to Sluice. */
  readonly setUp: string;
  /** Whether it could be installed here. */
  isThere(): boolean;
  run(job: Job): Promise<Outcome>;
  close(): Promise<void>;
}
