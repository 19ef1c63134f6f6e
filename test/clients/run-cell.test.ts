/** The steps of leaving, waiting and stopping, with a client and a Sluice that are made up. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { Client, Outcome, Step } from "./client.js";
import type { Gateway } from "./gateway.js";
import { hosts } from "./providers/hosts.js";
import { word } from "./providers/script.js";
import type { Seen } from "./providers/stand-in.js";
import { runCell } from "./run-cell.js";

interface Sample {
  readonly dialect?: Client["dialect"];
  readonly step: Step;
  readonly outcome: Omit<Outcome, "isLate"> & { readonly isLate?: boolean };
  /** Streams that begin while it runs, and how often it is refused. */
  readonly streams?: number;
  readonly refusals?: number;
}

const directory = mkdtempSync(join(tmpdir(), "sluice-run-cell-"));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

async function problemOf({ dialect = "chat", step, outcome, streams = 0, refusals = 0 }: Sample) {
  /** Those that Sluice has recorded. */
  let requests = 0;
  let refused = 0;
  const counted = { requests: 0, inputTokens: 0, outputTokens: 0 };
  const seen: Seen = { ...counted, streaming: 0, streams: 0, refused: [] };
  const gateway: Gateway = {
    url: "",
    standIn: {
      url: "",
      seen: () => seen,
      forget() {
        seen.requests = 0;
      },
      close: async () => {},
    },
    keyOf: async () => "key",
    limitSlots: async () => {},
    limitDay: async () => {},
    cap: async () => {},
    cut: async () => {},
    recorded: async () => ({ ...counted, requests, inFlight: 0 }),
    refused: () => (refusals > 0 ? Promise.resolve() : new Promise(() => {})),
    refusals: () => refused,
    use: async () => {},
    occupy: async () => () => {},
    close: async () => {},
  };
  const client: Client = {
    id: "c",
    title: "C",
    dialect,
    steps: [step],
    setUp: "",
    isThere: () => true,
    run: async ({ url }) => {
      const asked = url === gateway.url ? 1 : 2;
      seen.requests += asked;
      if (url === gateway.url) requests += asked;
      seen.streams += streams;
      refused += refusals;
      return { isLate: false, ...outcome };
    },
    close: async () => {},
  };
  const [host] = hosts;
  const cell = { client, host: host!, model: "m", steps: [step], directory };
  return (await runCell(gateway, cell)).steps[0]!.problem;
}

t.test("who leaves must have had a stream", async (t) => {
  const outcome = { succeeded: true, output: "hm" };
  t.equal(await problemOf({ step: "abort", outcome, streams: 1 }), null);
  t.match(await problemOf({ step: "abort", outcome }), /no stream had begun; it says: hm/);
});

t.test("who waits for a slot must have been refused", async (t) => {
  const outcome = { succeeded: true, output: `The word is ${word}.` };
  t.equal(await problemOf({ step: "busy", outcome, refusals: 1 }), null);
  t.match(await problemOf({ step: "busy", outcome }), /never refused/);
});

t.test("a client that can't show a cut answer must fail likewise at the provider", async (t) => {
  const outcome = { succeeded: true, output: "hm" };
  t.equal(await problemOf({ step: "cap", outcome }), null);
  const elsewhere = await problemOf({ step: "cap", outcome, dialect: "google" });
  t.match(elsewhere, /doesn't show what came/, "the provider doesn't speak its dialect");
});

t.test("a client that meets a daily limit must stop soon", async (t) => {
  const output = "day request limit";
  const outcome = { succeeded: false, output };
  t.equal(await problemOf({ step: "day", outcome, refusals: 10 }), null);
  t.match(await problemOf({ step: "day", outcome, refusals: 11 }), /refused 11 times/);
  const killed = { succeeded: false, isLate: true, output };
  t.match(await problemOf({ step: "day", outcome: killed }), /it doesn't stop/);
});
