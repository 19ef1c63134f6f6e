/**
 * Hard caps over three hosts on a real engine: many streams at the same time on all hosts end at
 * the cap of a rule or budget, also if one daemon is killed meanwhile, or each process in turn, or
 * if the engine is away and loses its data. Clients get no more than the cap and a chunk for each
 * stream; what the provider had sent beyond that, because it sends on while a stream waits, is
 * charged. Then what is left of the cap is used.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { startEndlessStreams } from "../../support/providers/endless-streams.js";

const skip = engineProgram === null && noEngine;
const hosts = 3;
const streams = 50;
const tokensMax = 60_000;
/** What each stream may exceed the cap by. */
const chunk = 8;
/** The most that a prompt counts. */
const promptMax = 20;
/** The most that a request holds beside what its provider has sent. */
const heldMost = 500;

/** The tokens that the client gets, also of an answer that breaks. */
async function ask(at: string, path: string): Promise<number> {
  let got = 0;
  try {
    const response = await fetch(`${at}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-sluice-user-path": path },
      body: JSON.stringify({
        ...{ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] },
      }),
    });
    let text = "";
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      got = text.split('"content":"four"').length - 1;
    }
  } catch {
    // Its proxy was killed.
  }
  return got;
}

/** The part of the cap that is used. */
async function used(at: string, { kind, path }: Pick<Case, "kind" | "path">): Promise<number> {
  const read = async (): Promise<readonly number[]> => {
    // Without a daemon there are none.
    if (kind === "rule") {
      const { rate_limits: rules = [] } = (await admin(at, "GET /rate-limits")).body;
      return rules.flatMap(({ subject, tokens_used }) => (subject === path ? tokens_used : []));
    }
    const { budgets = [] } = (await admin(at, "GET /budgets")).body as unknown as BudgetList;
    return budgets.flatMap(({ user_path, spent }) => (user_path === path ? spent * 1e6 : []));
  };
  return (await until(read, ([tokens]) => tokens !== undefined))[0]! / tokensMax;
}

interface BudgetList {
  readonly budgets?: readonly { readonly user_path: string; readonly spent: number }[];
}

interface Case {
  readonly title: string;
  readonly kind: "rule" | "budget";
  readonly path: string;
  readonly trouble: "none" | "a daemon is killed" | "each process is killed" | "the engine is away";
}

const cases: readonly Case[] = (["rule", "budget"] as const).flatMap((kind) => [
  { kind, title: `streams on three hosts end at one ${kind}`, path: "/many", trouble: "none" },
  {
    ...{ kind, title: `so they do at a ${kind} if one daemon is killed and comes back` },
    ...{ path: "/killed", trouble: "a daemon is killed" },
  },
  {
    ...{ kind, title: `so they do at a ${kind} if each process is killed in turn and comes back` },
    ...{ path: "/turns", trouble: "each process is killed" },
  },
  {
    ...{ kind, title: `so they do at a ${kind} if the engine is away for some seconds` },
    ...{ path: "/away", trouble: "the engine is away" },
  },
]);

t.setTimeout(300_000);
for (const each of cases)
  t.test(each.title, { skip }, async (t) => {
    const { kind, path, trouble } = each;
    const provider = await startEndlessStreams();
    t.teardown(() => provider.close());
    provider.atOnce = 1;
    const engine = await startEngine(t);
    const yaml = `
providers:
  test: { type: openai, base_url: "${provider.baseUrl}", api_key: none, models: [m], retries: 0 }
prices: { test/m: { input: 1, output: 1 } }
limiter: { deadline_ms: 30000 }
${
  kind === "rule"
    ? `rate_limits:
  user_paths:
    - { path: ${path}, limits: [{ period_seconds: ${agesSeconds}, max_tokens: ${tokensMax}, hold: hard }] }`
    : `budgets:
  user_paths:
    - { path: ${path}, limits: [{ period_seconds: ${agesSeconds}, amount: ${tokensMax / 1e6}, hold: hard }] }`
}
`;
    const sites = Array.from({ length: hosts }, () =>
      makeSite(t, yaml, { SLUICE_CLUSTER_URL: engine.url }),
    );
    const daemons = await Promise.all(sites.map((site) => site.startDaemon()));
    const proxies = await Promise.all(sites.map((site) => site.startProxy()));
    const urls = proxies.map(({ ready }) => ready);
    const flowed = (): number => provider.calls.reduce((sum, { tokens }) => sum + tokens, 0);
    const answers: Promise<number>[] = [];
    const askAt = (url: string): void => {
      for (let i = 0; i < streams; i++) answers.push(ask(url, path));
    };
    for (const url of urls) askAt(url);
    if (trouble !== "none")
      await until(
        async () => flowed(),
        (tokens) => tokens > tokensMax / 4,
      );
    if (trouble === "a daemon is killed") {
      await daemons[0]!.kill("SIGKILL");
      await sites[0]!.startDaemon();
    }
    for (let host = 0; trouble === "each process is killed" && host < hosts; host++) {
      await proxies[host]!.kill("SIGKILL");
      proxies[host] = await sites[host]!.startProxy();
      urls[host] = proxies[host]!.ready;
      askAt(urls[host]!);
      await daemons[host]!.kill("SIGKILL");
      daemons[host] = await sites[host]!.startDaemon();
    }
    if (trouble === "the engine is away") {
      await engine.kill();
      await new Promise((resolve) => setTimeout(resolve, 3000));
      await engine.restart();
    }
    const got = (await Promise.all(answers)).reduce((sum, tokens) => sum + tokens, 0);
    t.comment(`clients got ${got} of ${flowed()} tokens`);
    t.ok(got <= tokensMax + chunk * answers.length, `clients got ${got} of ${tokensMax}`);
    provider.atOnce = 50;
    for (const url of urls)
      await until(
        async () => {
          await ask(url, path);
          return used(url, each);
        },
        (part) => part > 0.97,
      );
    for (const url of urls) {
      const part = await used(url, each);
      // What the requests of a killed proxy held is charged.
      const heldMax = trouble === "each process is killed" ? hosts * streams * heldMost : 0;
      const most = (flowed() + provider.calls.length * promptMax + heldMax) / tokensMax;
      t.ok(part <= most, `${part} of the cap is used, ${most} was sent`);
    }
  });
