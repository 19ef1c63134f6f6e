/** One client on one model: every step, and what Sluice and the provider say of it afterwards. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { until } from "../support/client.js";
import type { Client, ClientDialect, Job, Outcome, Step } from "./client.js";
import { tokensCounted } from "./counts.js";
import { type Gateway, patienceMs, settled } from "./gateway.js";
import type { Host, Operation } from "./providers/hosts.js";
import { found, note, picture, word, wordOfCut } from "./providers/script.js";
import type { Seen } from "./providers/stand-in.js";

export interface StepResult {
  readonly step: Step;
  /** Null: as it should be. */
  readonly problem: string | null;
  /** Whether the client was ended at the deadline. */
  readonly isLate: boolean;
  /** What the client does at the provider itself; null if it wasn't tried. */
  readonly directly: "works" | "fails" | "late" | null;
}

export interface CellResult {
  readonly client: string;
  readonly host: string;
  readonly model: string;
  readonly steps: readonly StepResult[];
  readonly tookMs: number;
}

interface Cell {
  readonly client: Client;
  readonly host: Host;
  readonly model: string;
  readonly steps: readonly Step[];
  readonly directory: string;
}

const never = new Promise<void>(() => {});

export async function runCell(gateway: Gateway, cell: Cell): Promise<CellResult> {
  const work = join(cell.directory, "work");
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, "picture.png"), Buffer.from(picture, "base64"));
  for (const number of [1, 2, 3]) writeFileSync(join(work, `note-${number}.txt`), note(number));
  const startedMs = performance.now();
  const steps: StepResult[] = [];
  for (const step of cell.steps) {
    const tried = await runStep(gateway, cell, step).catch(
      (error: unknown): Tried => ({ problem: String(error), isLate: false }),
    );
    steps.push({ step, ...tried, directly: null });
    // What continues it can't go better.
    if (tried.problem !== null && step === "task") break;
  }
  const { client, host, model } = cell;
  const resultOf = (all: readonly StepResult[]): CellResult => ({
    client: client.id,
    host: host.name,
    model,
    steps: all,
    tookMs: performance.now() - startedMs,
  });
  if (steps.every(({ problem }) => problem === null) || !speaksTo(cell)) return resultOf(steps);
  const direct = new Map<Step, StepResult["directly"]>();
  for (const step of cell.steps.filter(isConversation)) {
    const { problem, isLate } = await runDirectly(gateway, cell, step);
    direct.set(step, problem === null ? "works" : isLate ? "late" : "fails");
  }
  return resultOf(
    steps.map((result) =>
      result.problem === null ? result : { ...result, directly: direct.get(result.step) ?? null },
    ),
  );
}

interface Tried {
  /** Null: as it should be. */
  readonly problem: string | null;
  readonly isLate: boolean;
}

const isConversation = (step: Step): boolean => !["count", "abort", "busy", "day"].includes(step);

const operations: Readonly<Record<ClientDialect, Operation>> = {
  chat: "chat/completions",
  messages: "messages",
  responses: "responses",
  google: "generateContent",
};

/** Whether the provider has what the client calls, so that nothing is translated. */
export function speaksTo({ client, host }: Pick<Cell, "client" | "host">): boolean {
  return host.rules[operations[client.dialect]] !== undefined;
}

/** Without Sluice. */
async function runDirectly(
  { standIn }: Gateway,
  { client, host, model, directory }: Cell,
  step: Step,
): Promise<Tried & { readonly said: string | null }> {
  standIn.forget();
  const outcome = await client.run({
    step,
    url: `${standIn.url}/${host.name}`,
    key: "key",
    model,
    directory,
    prompt: prompts[step](join(directory, "work")),
    leave: never,
  });
  const said = checkOutcome(step, outcome);
  const problem = standIn.seen(host.name).refused[0] ?? said;
  return { problem, isLate: outcome.isLate, said };
}

const prompts: Readonly<Record<Step, (work: string) => string>> = {
  task: (work) => `Read the notes and tell me the word. [[TASK ${work}]]`,
  stream: (work) => `Read the notes and tell me the word. [[TASK ${work}]]`,
  busy: (work) => `Read the notes and tell me the word. [[TASK ${work}]]`,
  day: (work) => `Read the notes and tell me the word. [[TASK ${work}]]`,
  again: () => "What was it? [[AGAIN]]",
  json: () => "A fruit with its weight, please. [[JSON]]",
  picture: () => "What does the picture show? [[PICTURE]]",
  count: () => "How long is this?",
  abort: () => "Take your time. [[SLOWLY]]",
  cap: () => "Go on as long as you can. [[LENGTH]]",
  compact: () => "/compact",
  after: () => "What was it, after all? [[AFTER]]",
  search: () => "Search the web for the fruit of the week. [[SEARCH]]",
};

async function runStep(gateway: Gateway, cell: Cell, step: Step): Promise<Tried> {
  const { client, host, model, directory } = cell;
  const path = `/${client.id}/${step}/${host.name}/${model.replace(/[^a-z0-9]+/gi, "-")}`;
  const key = await gateway.keyOf(path);
  const job: Job = {
    step,
    url: gateway.url,
    key,
    model: `${host.name}/${model}`,
    directory,
    prompt: prompts[step](join(directory, "work")),
    leave: never,
  };
  gateway.standIn.forget();
  const seen = () => gateway.standIn.seen(host.name);
  const outcome = await (step === "abort"
    ? whileItLeaves(gateway, cell, job)
    : step === "busy"
      ? whileBusy(gateway, cell, job, path)
      : step === "day"
        ? atItsEnd(gateway, cell, job, path)
        : step === "cap"
          ? atCap(gateway, cell, job, path)
          : client.run(job));
  const { isLate } = outcome;
  const refusals = seen().refused;
  if (refusals.length > 0)
    return { problem: `the provider refuses it: ${refusals[0]}`, isLate: false };
  const said = step === "count" ? checkCount(host, outcome) : checkOutcome(step, outcome);
  const failed = { problem: `${said}; it says: ${excerpt(outcome.output)}`, isLate };
  if (said !== null && (step !== "cap" || !speaksTo(cell))) return failed;
  const problem = await checkUsage(gateway, cell, step, key);
  // Some clients fail likewise when a model stops at its maximum of output.
  if (said !== null && (await runDirectly(gateway, cell, step)).said !== said) return failed;
  return { problem, isLate: false };
}

/**
 * The client leaves when the answer has begun, and then the provider's stream must end. It is told
 * to leave in the end, too, if none begins.
 */
async function whileItLeaves(gateway: Gateway, { client, host }: Cell, job: Job): Promise<Outcome> {
  const seenWhen = (isSo: (seen: Seen) => boolean): Promise<Seen> => {
    const deadline = performance.now() + patienceMs;
    const ask = async (): Promise<Seen> => gateway.standIn.seen(host.name);
    return until(ask, (seen) => isSo(seen) || performance.now() >= deadline);
  };
  let hasEnded = false;
  const begun = seenWhen(
    ({ streams, refused }) => streams > 0 || refused.length > 0 || hasEnded,
  ).then(() => {});
  const outcome = await client.run({ ...job, leave: begun });
  hasEnded = true;
  const { streaming, streams, refused } = await seenWhen((seen) => seen.streaming === 0);
  if (streaming > 0) throw new Error("the provider's stream goes on after the client has left");
  if (streams === 0 && refused.length === 0)
    throw new Error(`no stream had begun; it says: ${excerpt(outcome.output)}`);
  return outcome;
}

/** Its only slot is taken until it has been refused once. */
async function whileBusy(
  gateway: Gateway,
  { client, host, model }: Cell,
  job: Job,
  path: string,
): Promise<Outcome> {
  await gateway.limitSlots(path, 1);
  const end = await gateway.occupy(job.key, `${host.name}/${model}`);
  let wasRefused = false;
  void gateway.refused(path).then(() => {
    wasRefused = true;
    end();
  });
  const outcome = await client.run(job).finally(end);
  if (outcome.succeeded && !wasRefused) throw new Error("it was never refused for the slot");
  return outcome;
}

/** An agent asks for more than the answer, such as a title, and each may be refused. */
const refusalsMax = 10;

/** Its only request of the day is used. A run over the day's end is played again. */
async function atItsEnd(gateway: Gateway, cell: Cell, job: Job, path: string): Promise<Outcome> {
  const { client, host, model } = cell;
  const today = (): number => Math.floor(Date.now() / 86_400_000);
  const [began, refusedBefore] = [today(), gateway.refusals(path)];
  await gateway.limitDay(path, 1);
  await gateway.use(job.key, `${host.name}/${model}`);
  const outcome = await client.run(job);
  if (today() !== began) return atItsEnd(gateway, cell, job, path);
  const refusals = gateway.refusals(path) - refusedBefore;
  if (refusals > (client.dayRefusalsMax ?? refusalsMax))
    throw new Error(`it goes on: it was refused ${refusals} times`);
  return outcome;
}

/** A hard cap ends the answer, and has room again soon: agents ask for more than one. */
async function atCap(gateway: Gateway, { client }: Cell, job: Job, path: string): Promise<Outcome> {
  await gateway.cap(path, 200);
  const outcome = await client.run(job);
  const isCut = await Promise.race([gateway.cut(path).then(() => true), setTimeout(10_000, false)]);
  if (isCut) return outcome;
  throw new Error(`no hard cap ends its answer; it says: ${excerpt(outcome.output)}`);
}

function checkOutcome(step: Step, { succeeded, isLate, output }: Outcome): string | null {
  switch (step) {
    case "task":
    case "stream":
    case "busy":
      if (!output.includes(`The word is ${word}.`)) return "it doesn't find the word";
      return succeeded ? null : "it fails";
    case "again":
      return output.includes(`The word was ${word}.`) ? null : "it has lost the conversation";
    case "json":
      return output.includes(`"fruit":"${word}"`) ? null : "it has no object";
    case "picture":
      return output.includes(`The picture shows a ${word}.`) ? null : "it doesn't see the picture";
    case "after":
      return output.includes(`It is still ${word}.`) ? null : "it has lost what was compacted";
    case "search":
      return output.includes(found) ? null : "it doesn't say what was found";
    case "count":
    case "compact":
      return null;
    case "day":
      if (isLate) return "it doesn't stop";
      return output.includes("day request limit") ? null : "it doesn't show the limit";
    case "cap":
      if (!output.includes(wordOfCut.repeat(3).trim())) return "it doesn't show what came";
      return succeeded ? null : "it fails";
    case "abort":
      return null;
  }
}

const countingHosts: ReadonlySet<string> = new Set(["openai", "azure", "anthropic", "gemini"]);

/** The provider's own count, or an estimate where it has none. */
function checkCount({ name }: Host, { output }: Outcome): string | null {
  const shown = /counted (\d+) tokens/.exec(output)?.[1];
  if (shown === undefined) return "it doesn't say how many tokens";
  const isOwn = Number(shown) === tokensCounted;
  if (countingHosts.has(name)) return isOwn ? null : `it hasn't the provider's count, but ${shown}`;
  return isOwn || shown === "0" ? `it has no estimate, but ${shown}` : null;
}

/** What Sluice has recorded must be what the provider has told. */
async function checkUsage(
  gateway: Gateway,
  { host }: Cell,
  step: Step,
  key: string,
): Promise<string | null> {
  const now = await settled(gateway, key);
  const seen = gateway.standIn.seen(host.name);
  if (now.requests !== seen.requests)
    return `Sluice has recorded ${now.requests} requests, the provider ${seen.requests}`;
  // Of a stream without an end there is an estimate.
  if (step === "abort" || step === "busy" || step === "cap") return null;
  return now.inputTokens === seen.inputTokens && now.outputTokens === seen.outputTokens
    ? null
    : `Sluice has recorded ${now.inputTokens} and ${now.outputTokens} tokens, the provider told ${seen.inputTokens} and ${seen.outputTokens}`;
}

function excerpt(output: string): string {
  return output.replace(/\s+/g, " ").trim().slice(-400);
}
