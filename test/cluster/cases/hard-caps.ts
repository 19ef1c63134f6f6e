/**
 * Hard caps over three hosts on a real engine: many streams at the same time on all hosts end at
 * the cap of a rule or budget, also if one daemon is killed meanwhile, or if the engine is away and
 * loses its data. Clients get no more than the cap and a chunk for each stream; what the provider
 * had sent beyond that, because it sends on while a stream waits, is charged. Then what is left of
 * the cap is used.
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

/** The tokens that the client gets. */
async function ask(at: string, path: string): Promise<number> {
  try {
    const response = await fetch(`${at}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-sluice-user-path": path },
      body: JSON.stringify({
        ...{ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] },
      }),
    });
    return (await response.text()).match(/"content":"four"/g)?.length ?? 0;
  } catch {
    return 0;
  }
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
  readonly trouble: "none" | "a daemon is killed" | "the engine is away";
}

const cases: readonly Case[] = (["rule", "budget"] as const).flatMap((kind) => [
  { kind, title: `streams on three hosts end at one ${kind}`, path: "/many", trouble: "none" },
  {
    ...{ kind, title: `so they do at a ${kind} if one daemon is killed and comes back` },
    ...{ path: "/killed", trouble: "a daemon is killed" },
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
    const urls = await Promise.all(sites.map(async (site) => (await site.startProxy()).ready));
    const flowed = (): number => provider.calls.reduce((sum, { tokens }) => sum + tokens, 0);
    const answers = Promise.all(
      urls.flatMap((url) => Array.from({ length: streams }, () => ask(url, path))),
    );
    if (trouble !== "none")
      await until(
        async () => flowed(),
        (tokens) => tokens > tokensMax / 4,
      );
    if (trouble === "a daemon is killed") {
      await daemons[0]!.kill("SIGKILL");
      await sites[0]!.startDaemon();
    }
    if (trouble === "the engine is away") {
      await engine.kill();
      await new Promise((resolve) => setTimeout(resolve, 3000));
      await engine.restart();
    }
    const got = (await answers).reduce((sum, tokens) => sum + tokens, 0);
    t.comment(`clients got ${got} of ${flowed()} tokens`);
    t.ok(got <= tokensMax + chunk * hosts * streams, `clients got ${got} of ${tokensMax}`);
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
      const most = (flowed() + provider.calls.length * promptMax) / tokensMax;
      t.ok(part <= most, `${part} of the cap is used, ${most} was sent`);
    }
  });
