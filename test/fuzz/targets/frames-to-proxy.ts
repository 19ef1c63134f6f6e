/**
 * Frames from the daemon, mutated as values and as bytes, to a proxy's limiter client at work. Each
 * is handled, reported, or the connection is closed; every request that waits gets its outcome
 * within the deadline, and a sane daemon afterwards gets every settle.
 */
import type { Admission, AdmissionOutcome } from "../../../proxy/limiter/admission.js";
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import { createFrameReader, encodeFrame, type FrameReader } from "../../../shared/wire/codec.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { parseFromDaemon, writeFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { executed } from "../../limiterd/in-memory-daemon.js";
import {
  ClientHarness,
  deadlineMs,
  gpt,
  llama,
} from "../../proxy/limiter/client/client-harness.js";
import type { Random } from "../../sim/random.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes, mutateBytes } from "../mutate/mutate-bytes.js";
import { JsonMutator } from "../mutate/mutate-json.js";
import { fromDaemonSamples, keyHash } from "../samples/frame-samples.js";

const mutator = new JsonMutator(
  fromDaemonSamples.map((message) => writeFromDaemon(message)),
  { levels: 400, items: 100_000, chars: 1_000_000 },
);
/** How long an admin operation waits. */
const operationDeadlineMs = 5000;
const credentials = ["authenticated", "none", keyHash];

/** The proxy's end of the connection, as `connect-limiter.ts` has it. */
class Link {
  readonly harness: ClientHarness;
  readonly #waiting = new Set<string>();
  readonly #admitted: Admission[] = [];
  #reader: FrameReader | null = null;
  #asked = 0;

  constructor(random: Random) {
    this.harness = new ClientHarness({ failureMode: random.chance(0.5) ? "open" : "closed" });
  }

  connect(): void {
    if (this.#reader !== null) return;
    this.#reader = createFrameReader(frameBytesMaxFromDaemon);
    this.harness.connect();
  }

  lose(): void {
    this.#reader = null;
    this.harness.lose();
  }

  hear(bytes: Buffer): void {
    const valid = this.#reader?.feed(bytes, (frame) => {
      const message = parseFromDaemon(frame);
      if (message !== null) this.harness.receive(message);
    });
    if (valid === false) this.lose();
  }

  /** The ids that wait for an answer, or have one. */
  get ids(): readonly number[] {
    return this.harness.sent
      .slice(-20)
      .flatMap((message) => ("id" in message ? message.id : "seq" in message ? message.seq : []));
  }

  act(random: Random): void {
    const { client } = this.harness;
    const caller = { userPath: "/team", credential: random.pick(credentials) };
    switch (random.int(0, 7)) {
      case 0:
      case 1:
      case 2:
        return this.#wait(
          client.admit(caller, [gpt, llama], { submission: random.chance(0.1) }),
          (outcome) => this.#keep(outcome),
        );
      case 3:
        return this.#wait(client.authorize(caller.credential), () => {});
      case 4:
        return this.#wait(client.call("rate-limits.list", {}), () => {});
      case 5:
        return this.#reroute();
      case 6:
        return client.noteRefusal(random.int(0, 30), "req_1", "gpt-4o");
      default:
        return this.settleAll();
    }
  }

  #keep(outcome: AdmissionOutcome): void {
    if (outcome.kind === "admitted" && !this.#admitted.includes(outcome.admission))
      this.#admitted.push(outcome.admission);
  }

  #reroute(): void {
    const admission = this.#admitted.find(
      ({ target, submission }) => target !== null && !submission,
    );
    if (admission === undefined) return;
    this.#admitted.splice(this.#admitted.indexOf(admission), 1);
    this.#wait(this.harness.client.reroute(admission, [llama]), () =>
      this.#admitted.push(admission),
    );
  }

  settleAll(): void {
    for (const admission of this.#admitted.splice(0))
      this.harness.client.settle(
        admission,
        { tokens: 5, estimated: false, record: executed() },
        () => {},
      );
  }

  #wait<T>(outcome: Promise<T>, then: (outcome: T) => void): void {
    const name = `${++this.#asked}`;
    this.#waiting.add(name);
    void outcome.then((got) => {
      this.#waiting.delete(name);
      then(got);
    });
  }

  mustHaveAnswered(): void {
    must(this.#waiting.size === 0, () => `${this.#waiting.size} requests wait beyond the deadline`);
  }
}

/** A valid message, mostly an answer to something that was asked. */
function messageOf(link: Link, random: Random): FromDaemon {
  const message = random.pick(fromDaemonSamples);
  const { ids } = link;
  if (ids.length === 0 || random.chance(0.2) || message.kind === "event") return message;
  if (message.kind === "settled") return { ...message, seq: random.pick(ids) };
  return { ...message, id: random.pick(ids) };
}

function bytesOf(link: Link, random: Random): Buffer {
  const wire = writeFromDaemon(messageOf(link, random));
  const kind = random.next();
  if (kind < 0.3) return encodeFrame(wire);
  if (kind > 0.85) return mutateBytes(encodeFrame(wire), random);
  const mutated = mutator.value(wire, random);
  return encodeFrame(Array.isArray(mutated) ? mutated : [mutated]);
}

const welcome = (settledSeq: number): Buffer =>
  encodeFrame(
    writeFromDaemon({ ...(fromDaemonSamples[0] as FromDaemon & { kind: "welcome" }), settledSeq }),
  );

async function life(random: Random): Promise<number> {
  const link = new Link(random);
  const { harness } = link;
  let frames = 0;
  for (let steps = random.int(2, 25); steps > 0; steps--) {
    link.connect();
    if (random.chance(0.3)) link.hear(welcome(0));
    for (let acts = random.int(0, 3); acts > 0; acts--) link.act(random);
    const said = Array.from({ length: random.int(0, 4) }, () => bytesOf(link, random));
    frames += said.length;
    for (const piece of random.chance(0.8) ? said : cutBytes(Buffer.concat(said), random))
      link.hear(piece);
    if (random.chance(0.1)) link.lose();
    if (random.chance(0.3)) harness.advance(random.int(0, deadlineMs));
    harness.endTurn();
    await Promise.resolve();
  }
  harness.advance(operationDeadlineMs + deadlineMs);
  await settled();
  link.mustHaveAnswered();
  link.settleAll();
  harness.take();
  link.lose();
  link.connect();
  link.hear(welcome(0));
  const sent = harness
    .take()
    .flatMap((message) => (message.kind === "settle" ? [message.seq] : []));
  must(
    sent.every((seq, i) => i === 0 || seq > sent[i - 1]!),
    "settles are sent in order",
  );
  link.hear(encodeFrame(["settled", sent.at(-1) ?? 0]));
  must(harness.client.unsettled === 0, () => `${harness.client.unsettled} settles are left`);
  return Math.max(1, frames);
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

export const framesToProxy: FuzzTarget = {
  name: "frames-to-proxy",
  share: 0.5,
  open: () => Promise.resolve({ run: life, close: () => Promise.resolve() }),
};
