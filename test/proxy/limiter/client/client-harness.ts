/** A limiter client whose clock, timers and daemon are the test. */

import type { Admission, AdmissionOutcome } from "../../../../proxy/limiter/admission.js";
import type { LimiterClientOptions } from "../../../../proxy/limiter/client/limiter-client.js";
import { LimiterClient } from "../../../../proxy/limiter/client/limiter-client.js";
import type { Target } from "../../../../shared/domain/target-name.js";
import type { FromDaemon, UnknownEvent } from "../../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../../shared/wire/message-to-daemon.js";

export const gpt = { provider: "openai", model: "gpt-4o" };

export const llama = { provider: "local", model: "llama-3" };

export const deadlineMs = 1000;

/** Deadlines are checked this often, so that one may be noticed so late. */
export const expiryIntervalMs = deadlineMs / 10;

/**
 * A client with a clock and timers that are moved by hand, and a link whose other end is the test.
 */
export class ClientHarness {
  nowMs = 5000;
  readonly sent: ToDaemon[] = [];
  readonly links: boolean[] = [];
  dropped = 0;
  /** How often the client has closed its connection. */
  closed = 0;
  /** What daemons of other releases have answered to hellos. */
  readonly refusals: string[] = [];
  /** The silences and answers of the daemon that were reported, in their order. */
  readonly silences: string[] = [];
  readonly client: LimiterClient;
  #timers: { readonly ms: number; readonly atMs: number; readonly run: () => void }[] = [];
  #afterTurn: (() => void)[] = [];
  #whenSent: (() => void)[] = [];
  turns = 0;

  constructor(options: Partial<LimiterClientOptions> = {}) {
    this.client = new LimiterClient(
      {
        proxyId: "p1",
        monoMs: () => this.nowMs,
        schedule: (ms, run) => void this.#timers.push({ ms, atMs: this.nowMs + ms, run }),
        afterTurn: (run) => void this.#afterTurn.push(run),
        onLinkChange: (linked) => void this.links.push(linked),
        onSilent: (wasLinked) => void this.silences.push(wasLinked ? "silent" : "no welcome"),
        onAnswering: (silentMs) => void this.silences.push(`answers after ${silentMs}`),
        onLate: () => void this.silences.push("late"),
        onRefused: (message) => void this.refusals.push(message),
        onDropped: () => void this.dropped++,
      },
      { deadlineMs, failureMode: "closed", ...options },
    );
  }

  /** For how long each timer was set that hasn't run. */
  get timersMs(): number[] {
    return this.#timers.map(({ ms }) => ms);
  }

  connect(): void {
    this.#whenSent = [];
    this.client.onConnect({
      send: (message) => void this.sent.push(message),
      whenSent: (run) => void this.#whenSent.push(run),
      close: () => void this.closed++,
    });
  }

  /** The kernel takes all that was sent; whether anything waited for that. */
  takenByKernel(): boolean {
    const waiting = this.#whenSent;
    this.#whenSent = [];
    for (const run of waiting) run();
    return waiting.length > 0;
  }

  welcome({
    settledSeq = 0,
    limited = true,
    inertRules = 0,
    inertBudgets = 0,
    keysExist = false,
    deniedJwts = 0,
  } = {}): void {
    this.receive({
      kind: "welcome",
      id: 1,
      daemonVersion: "0.1.0",
      settledSeq,
      limited,
      inertRules,
      inertBudgets,
      keysExist,
      deniedJwts,
    });
  }

  receive(message: FromDaemon | UnknownEvent | null): void {
    this.client.onMessage(message, this.nowMs);
  }

  /** The daemon admits what it was asked with this id, to the first target. */
  admits(id: number): void {
    this.receive({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100,
      lsn: 5,
      headers: null,
      key: null,
    });
  }

  /** The daemon refuses it: ten requests a minute. */
  refuses(id: number): void {
    this.receive({
      kind: "refused",
      id,
      scope: "user_path",
      subject: "/team",
      periodSeconds: 60,
      dimension: "requests",
      cap: 10,
      waitSeconds: 61,
      key: null,
    });
  }

  /** The request has ended, with seven tokens. */
  settles(asked: { readonly outcome: AdmissionOutcome | null }): void {
    const usage = { tokens: 7, estimated: false, record: null };
    this.client.settle(admissionOf(asked), usage, () => {});
  }

  lose(): void {
    this.client.onDisconnect();
  }

  advance(ms: number): void {
    const until = this.nowMs + ms;
    for (;;) {
      const due = this.#timers
        .filter(({ atMs }) => atMs <= until)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.splice(this.#timers.indexOf(due), 1);
      this.nowMs = Math.max(this.nowMs, due.atMs);
      due.run();
    }
    this.nowMs = until;
  }

  endTurn(): void {
    const run = this.#afterTurn.splice(0);
    this.turns += run.length;
    for (const then of run) then();
  }

  /** What was sent since the last look, but for what each welcome is answered with. */
  take(): ToDaemon[] {
    return this.sent.splice(0).filter(({ kind }) => kind !== "read");
  }

  /** Asks for an admission; its outcome appears in `outcome`. */
  ask(
    userPath = "/team",
    targets: readonly Target[] = [gpt],
    credential = "authenticated",
    submission = false,
  ): { outcome: AdmissionOutcome | null } {
    const asked: { outcome: AdmissionOutcome | null } = { outcome: null };
    void this.client
      .admit({ userPath, credential }, targets, { submission })
      .then((outcome) => (asked.outcome = outcome));
    return asked;
  }

  /** An admission that a daemon has granted. */
  async granted(userPath = "/team"): Promise<Admission> {
    const asked = this.ask(userPath);
    const { id } = this.sent.at(-1) as { id: number };
    this.receive({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100_000 + id,
      lsn: 70 + id,
      headers: null,
      key: null,
    });
    await promisesResolved();
    return admissionOf(asked);
  }
}

/** A client whose daemon is there. */
export function linkedHarness(options: Partial<LimiterClientOptions> = {}): ClientHarness {
  const harness = new ClientHarness(options);
  harness.connect();
  harness.welcome();
  harness.take();
  return harness;
}

export const promisesResolved = (): Promise<void> =>
  new Promise((resolve) => setImmediate(resolve));

export function admissionOf({ outcome }: { readonly outcome: AdmissionOutcome | null }): Admission {
  if (outcome?.kind !== "admitted") throw new Error(`not admitted: ${JSON.stringify(outcome)}`);
  return outcome.admission;
}

export const kinds = (messages: readonly ToDaemon[]): string[] => messages.map(({ kind }) => kind);

export const nothing = { tokens: 0, estimated: false, record: null };
