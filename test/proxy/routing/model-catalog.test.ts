import t from "tap";
import {
  createModelCatalog,
  type ModelCatalog,
  resolveOnceLearned,
  unknownModel,
} from "../../../proxy/routing/model-catalog.js";
import { listModels, resolveModel } from "../../../proxy/routing/resolve-model.js";
import type {
  Upstream,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from "../../../proxy/upstream/upstream.js";
import type { AliasConfig, Config, ProviderConfig } from "../../../shared/config/config.js";
import type { ProviderType } from "../../../shared/config/provider-type.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { exactly } from "../../support/patterns/exactly.js";

interface ModelsCall {
  readonly request: UpstreamRequest;
  readonly sink: UpstreamSink;
  aborted: boolean;
}

/** A provider that answers when the test lets it. */
class Provider implements Upstream {
  readonly calls: ModelsCall[] = [];

  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    const call: ModelsCall = { request, sink, aborted: false };
    this.calls.push(call);
    const abort = (): void => {
      call.aborted = true;
    };
    return { isSent: true, pause: () => {}, resume: () => {}, abort };
  }

  redact = (text: string): string => text;
  close = (): Promise<void> => Promise.resolve();

  /** Answers the last question. */
  async answer(status: number, body: string | Buffer): Promise<void> {
    const { sink } = this.calls.at(-1)!;
    sink.onHead(status, []);
    const bytes = Buffer.from(body);
    sink.onData(bytes.subarray(0, 3));
    sink.onData(bytes.subarray(3));
    sink.onEnd();
    await settled();
  }

  async throws(message: string): Promise<void> {
    this.calls.at(-1)!.sink.onBug(new Error(message));
    await settled();
  }

  async fail(reason: string): Promise<void> {
    this.calls.at(-1)!.sink.onFailure({ kind: "unreachable", reason });
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const list = (...ids: readonly string[]): string =>
  JSON.stringify({ object: "list", data: ids.map((id) => ({ id, object: "model" })) });

interface Bench {
  readonly catalog: ModelCatalog;
  readonly providers: Readonly<Record<string, Provider>>;
  /** `ms` and what runs then, in the order in which it was scheduled. */
  readonly timers: { readonly ms: number; readonly run: () => void }[];
  readonly reports: string[];
  /** The ids that are listed now. */
  ids(): string[];
}

function bench(
  models: Readonly<Record<string, readonly string[] | null>>,
  aliases: readonly AliasConfig[] = [],
  types: Readonly<Record<string, ProviderType>> = {},
): Bench {
  const providers = Object.fromEntries(Object.keys(models).map((name) => [name, new Provider()]));
  const timers: { ms: number; run: () => void }[] = [];
  const reports: string[] = [];
  const config = {
    providers: Object.entries(models).map(
      ([name, of]) => ({ name, type: types[name], models: of }) as ProviderConfig,
    ),
    virtualModels: [],
    aliases,
  } as unknown as Config;
  const catalog = createModelCatalog(config, {
    upstreams: new Map(Object.entries(providers)),
    nowMs: () => 5_000,
    schedule: (ms, run) => void timers.push({ ms, run }),
    onLearned: (provider, count) => void reports.push(`${provider} ${count}`),
    onFailed: (provider, reason) => void reports.push(`${provider}: ${reason}`),
  });
  return {
    catalog,
    providers,
    timers,
    reports,
    ids: () => listModels(catalog.current()).map(({ id }) => id),
  };
}

/** Whether a promise is resolved by now. */
async function isResolved(promise: Promise<unknown>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => (resolved = true));
  await settled();
  return resolved;
}

t.test("configured models are known immediately, and no provider is asked for them", async (t) => {
  const { catalog, providers, timers, ids } = bench({ openai: ["gpt-4o", "o3"], local: ["*"] });
  t.same(ids(), ["openai/gpt-4o", "openai/o3"]);
  t.same(
    [providers["openai"]!.calls.length, providers["local"]!.calls.length, timers.length],
    [0, 0, 0],
  );
  t.ok(await isResolved(catalog.firstLearned()));
});

t.test(
  "a provider without a list is calls at the start, and its models are there once it has answered",
  async (t) => {
    const { catalog, providers, reports, ids } = bench({ openai: null, local: ["llama"] });
    const openai = providers["openai"]!;
    t.match(openai.calls[0]!.request, {
      method: "GET",
      path: "/models",
      body: null,
      isRepeatable: true,
    });
    t.same(ids(), ["local/llama"]);
    const before = catalog.current();
    t.equal(resolveModel(before, "gpt-4o"), null);
    await openai.answer(200, list("gpt-4o", "o3"));
    t.same(ids(), ["openai/gpt-4o", "openai/o3", "local/llama"]);
    t.match(
      resolveModel(catalog.current(), "gpt-4o"),
      exactly({
        targets: [{ provider: "openai", model: "gpt-4o" }],
      }),
    );
    t.equal(resolveModel(before, "gpt-4o"), null, "a catalog in use doesn't change");
    t.same(reports, ["openai 2"]);
  },
);

t.test("Anthropic is asked for a page that holds all of its models", async (t) => {
  const { providers } = bench({ claude: null, openai: null }, [], { claude: "anthropic" });
  t.equal(providers["claude"]!.calls[0]!.request.path, "/models?limit=1000");
  t.equal(providers["openai"]!.calls[0]!.request.path, "/models");
});

t.test("it is known when each provider last listed its models", async (t) => {
  const { catalog, providers } = bench({ openai: null, down: null, fixed: ["a"] });
  await providers["openai"]!.answer(200, list("b"));
  await providers["down"]!.answer(500, "{}");
  t.same(
    ["openai", "down", "fixed", "none"].map((name) => catalog.learnedAtMs(name)),
    [5_000, null, null, null],
  );
});

t.test("a name is resolved once the models of every provider are loaded", async (t) => {
  const { catalog, providers } = bench({ openai: null });
  const resolved = resolveOnceLearned({ models: catalog }, "gpt-4o");
  await providers["openai"]!.answer(200, list("gpt-4o"));
  t.match(await resolved, exactly({ targets: [{ provider: "openai", model: "gpt-4o" }] }));
});

t.test(
  "of a list so many models are kept, and so many compared with a misspelt name",
  async (t) => {
    const { providers, ids } = bench({ p: null });
    const names = Array.from({ length: 20_001 }, (_, i) => `model-${String(i).padStart(5, "0")}`);
    await providers["p"]!.answer(200, list(...names));
    t.same([ids().length, ids().at(-1)], [20_000, "p/model-19999"]);
    const { catalog } = bench({ p: [...names.slice(0, 499), "claude", "gemini"] });
    const hint = (name: string) => unknownModel(catalog, name).failure.message;
    t.match(hint("claud"), /did you mean claude/);
    t.notMatch(hint("gemin"), /did you mean/);
  },
);

t.test(
  "a misspelt provider is named, also while its models may belong to another one",
  async (t) => {
    const { catalog, providers } = bench({ openai: null });
    const message = () => unknownModel(catalog, "opnai/gpt-4o").failure.message;
    t.match(message(), /openai\/MODEL; no provider opnai is configured; did you mean openai\?$/);
    await providers["openai"]!.answer(200, list("gpt-4o"));
    t.match(message(), /does not exist.*; no provider opnai is configured; did you mean openai\?$/);
  },
);

t.test("a catch-all takes a name only when no other provider may list it", async (t) => {
  const toBackup: AliasConfig = {
    name: "*",
    to: { kind: "target", provider: "backup", model: null },
  };
  for (const [what, of, aliases] of [
    ["the alias *", { openai: null, listless: null, backup: null }, [toBackup]],
    ['models: ["*"]', { openai: null, listless: null, backup: ["*"] }, []],
  ] as const) {
    const { catalog, providers, timers } = bench(of, aliases);
    const of4o = (): unknown => resolveModel(catalog.current(), "gpt-4o")?.targets[0]?.provider;
    t.equal(of4o(), undefined, what);
    const early = resolveOnceLearned({ models: catalog }, "gpt-4o");
    await providers["listless"]!.answer(404, "{}");
    t.equal(of4o(), undefined, `${what}: one is left`);
    await providers["openai"]!.fail("down");
    t.equal(of4o(), undefined, `${what}: it didn't answer`);
    t.equal(unknownModel(catalog, "gpt-4o").failure.status, 503, what);
    if (of.backup === null) await providers["backup"]!.fail("down");
    t.equal(await early, null, what);
    for (const { run } of [...timers]) run();
    await providers["openai"]!.answer(200, list("gpt-4o"));
    t.equal(of4o(), "openai", what);
    t.match(
      resolveModel(catalog.current(), "other"),
      exactly({ targets: [{ provider: "backup", model: "other" }] }),
      `${what}: the catch-all's own list needn't be known`,
    );
  }
});

t.test(
  "an alias that its provider moves is a name of the model that has answered last",
  async (t) => {
    const { catalog } = bench({ gemini: ["gemini-2.5-flash"], openai: ["gpt-4o"] }, [], {
      gemini: "gemini",
    });
    const targetOf = (name: string): Target => resolveModel(catalog.current(), name)!.targets[0];
    const alias = targetOf("gemini/models/Gemini-Flash-Latest");
    t.same(alias, { provider: "gemini", model: "Gemini-Flash-Latest" });
    t.equal(catalog.isMoving(alias), true);
    for (const fixed of ["gemini/gemini-2.5-flash", "gemini/gemini-2.5-flash-latest", "gpt-4o"])
      t.equal(catalog.isMoving(targetOf(fixed)), false, fixed);
    const before = catalog.current();
    for (const answered of [
      undefined,
      null,
      "",
      7,
      "a model",
      "x\u0000",
      "y".repeat(2000),
      "gemini-flash-latest",
      "models/gemini-pro-latest",
    ])
      t.equal(catalog.executedTarget(alias, answered), null, String(answered).slice(0, 30));
    t.equal(catalog.current(), before, "names of no model change nothing");
    const known = { provider: "gemini", model: "gemini-2.5-flash", sent: "gemini-flash-latest" };
    t.same(catalog.executedTarget(alias, "models/Gemini-2.5-Flash-001"), {
      ...known,
      sent: "Gemini-Flash-Latest",
    });
    t.same(targetOf("gemini/gemini-flash-latest"), known);
    const current = catalog.current();
    t.same(
      catalog.executedTarget(targetOf("gemini/gemini-flash-latest"), "gemini-2.5-flash"),
      known,
    );
    t.equal(catalog.current(), current, "the same answer changes nothing");
    const moved = { ...known, model: "gemini-3-flash" };
    t.same(catalog.executedTarget(known, "gemini-3-flash"), moved);
    t.same(targetOf("gemini/gemini-flash-latest"), moved);
    t.same(targetOf("openai/gemini-flash-latest"), {
      provider: "openai",
      model: "gemini-flash-latest",
    });
    for (let i = 0; i < 200; i++)
      catalog.executedTarget(
        { provider: "gemini", model: `gemini-${"x".repeat(i + 1)}-latest` },
        "m",
      );
    t.ok(catalog.current().knownModels.get("gemini")!.executing.size <= 100, "bounded");
    t.same(targetOf("gemini/gemini-flash-latest"), moved);
  },
);

t.test("a provider that has no list holds no catch-all back", async (t) => {
  const { catalog, providers } = bench({ listless: null, local: ["*"] });
  t.equal(resolveModel(catalog.current(), "x"), null);
  await providers["listless"]!.answer(404, "{}");
  t.match(resolveModel(catalog.current(), "x"), exactly({ targets: [{ provider: "local" }] }));
});

t.test(
  "every shape of list that providers return is read, and entries that are no model left out",
  async (t) => {
    const table: readonly (readonly [body: string, ids: readonly string[]])[] = [
      [list(), []],
      ['[{"id":"a"},{"id":"b"}]', ["p/a", "p/b"]],
      [
        '{"data":[{"id":"a"},{"id":""},{"id":5},null,"b",{"name":"c"},{"id":"d/e"}]}',
        ["p/a", "p/d/e"],
      ],
      ['{"data":[{"id":"a"},{"id":"a"}]}', ["p/a"]],
      [`{"data":[{"id":"a"},{"id":"${"x".repeat(600)}"}]}`, ["p/a"]],
      ['{"data":[{"id":"größe"}]}', ["p/größe"]],
    ];
    for (const [body, expected] of table) {
      const { providers, ids } = bench({ p: null });
      await providers["p"]!.answer(200, body);
      t.same(ids(), expected, body.slice(0, 60));
    }
  },
);

t.test(
  "an answer that is no list is reported, and the provider is calls again sooner",
  async (t) => {
    const table: readonly (readonly [
      answer: (provider: Provider) => Promise<void>,
      reports: string,
    ])[] = [
      [(provider) => provider.answer(401, "{}"), "p: GET /models answered 401"],
      [(provider) => provider.answer(500, "oops"), "p: GET /models answered 500"],
      [(provider) => provider.answer(204, "   "), "p: GET /models answered 204"],
      [(provider) => provider.answer(200, "<html>"), "p: GET /models did not answer with JSON"],
      [
        (provider) => provider.answer(200, '{"models":[]}'),
        "p: GET /models did not answer with a list",
      ],
      [(provider) => provider.answer(200, "null"), "p: GET /models did not answer with a list"],
      [
        (provider) => provider.answer(200, '{"data":{}}'),
        "p: GET /models did not answer with a list",
      ],
      [(provider) => provider.fail("ECONNREFUSED"), "p: ECONNREFUSED"],
      [(provider) => provider.throws("out of range"), "p: Error: out of range"],
    ];
    for (const [answer, expected] of table) {
      const { providers, reports, timers } = bench({ p: null });
      timers.length = 0;
      await answer(providers["p"]!);
      t.same(reports, [expected]);
      t.same(
        timers.map(({ ms }) => ms),
        [30_000],
      );
      timers[0]!.run();
      t.equal(providers["p"]!.calls.length, 2);
      await providers["p"]!.answer(200, list("a"));
      t.same(
        timers.map(({ ms }) => ms),
        [30_000, 600_000],
        "a good answer is asked for again later",
      );
    }
  },
);

t.test("a list that grows without end is cut off", async (t) => {
  const { providers, reports } = bench({ p: null });
  const { calls } = providers["p"]!;
  calls[0]!.sink.onHead(200, []);
  for (let i = 0; i < 10 && !calls[0]!.aborted; i++)
    calls[0]!.sink.onData(Buffer.alloc(1024 * 1024, 0x20));
  await settled();
  t.equal(calls[0]!.aborted, true);
  t.match(reports, exactly([/^p: its list of models is larger than 8388608 bytes$/]));
});

t.test("a provider without a list is distinguished from one that fails", async (t) => {
  for (const status of [400, 403, 404, 405, 406, 500, 501, 502]) {
    const { providers, catalog } = bench({ p: null });
    t.same(catalog.unlearned(), ["p"]);
    await providers["p"]!.answer(status, "{}");
    t.same(catalog.unlearned(), [404, 405, 501].includes(status) ? [] : ["p"], String(status));
  }
});

t.test("a list may be as large as the bound, and no byte larger", async (t) => {
  const bound = 8 * 1024 * 1024;
  for (const [bytes, expected] of [
    [bound, "p 1"],
    [bound + 1, `p: its list of models is larger than ${bound} bytes`],
  ] as const) {
    const { providers, reports } = bench({ p: null });
    await providers["p"]!.answer(200, list("a").padEnd(bytes));
    t.same(reports, [expected]);
  }
});

t.test("a newer list replaces the one before, a failure leaves it", async (t) => {
  const { providers, timers, ids, reports } = bench({ p: null });
  timers.length = 0;
  await providers["p"]!.answer(200, list("a", "b"));
  timers.at(-1)!.run();
  await providers["p"]!.answer(200, list("b", "c"));
  t.same(ids(), ["p/b", "p/c"]);
  timers.at(-1)!.run();
  await providers["p"]!.fail("ETIMEDOUT");
  t.same(ids(), ["p/b", "p/c"]);
  t.same(reports, ["p 2", "p: ETIMEDOUT"], "only the first success is reported");
});

t.test(
  "an unknown name waits until every provider has answered once, but no longer than three seconds",
  async (t) => {
    const both = bench({ a: null, b: null });
    const waits = both.catalog.firstLearned();
    await both.providers["a"]!.answer(200, list("x"));
    t.notOk(await isResolved(waits));
    await both.providers["b"]!.fail("ECONNREFUSED");
    t.ok(await isResolved(waits), "a failure is an answer too");
    t.ok(await isResolved(both.catalog.firstLearned()), "and from then on no request waits");
    const slow = bench({ a: null });
    const waiting = slow.catalog.firstLearned();
    const [limit] = slow.timers;
    t.equal(limit!.ms, 3_000);
    t.notOk(await isResolved(waiting));
    limit!.run();
    t.ok(await isResolved(waiting));
    t.ok(await isResolved(slow.catalog.firstLearned()), "nor does any other request");
    await slow.providers["a"]!.answer(200, list("x"));
    t.same(slow.ids(), ["a/x"], "what comes later is learned all the same");
    t.ok(await isResolved(slow.catalog.firstLearned()));
  },
);

t.test("after a stop no provider is calls again, and no request waits", async (t) => {
  const { catalog, providers, timers } = bench({ a: null });
  const waiting = catalog.firstLearned();
  catalog.stop();
  t.ok(await isResolved(waiting));
  await providers["a"]!.answer(200, list("x"));
  for (const { run } of timers) run();
  t.equal(providers["a"]!.calls.length, 1);
});

t.test(
  "an unknown name is a 404, or a 503 while it may be of a provider whose models aren't loaded",
  async (t) => {
    const { catalog, providers, timers } = bench({ fixed: ["a"], down: null, listless: null });
    const gets = (): string => {
      const { failure, headers } = unknownModel(catalog, "x");
      return [failure.status, failure.code, ...headers].join(" ");
    };
    t.equal(gets(), "503 provider_unavailable retry-after 30");
    await providers["listless"]!.answer(404, "{}");
    t.equal(gets(), "503 provider_unavailable retry-after 30");
    t.match(unknownModel(catalog, "x").failure.message, /belong to provider down/);
    await providers["down"]!.fail("ECONNREFUSED");
    t.equal(gets(), "503 provider_unavailable retry-after 30");
    timers.at(-1)!.run();
    await providers["down"]!.answer(200, list("b"));
    t.equal(gets(), "404 model_not_found");
    catalog.stop();
  },
);

t.test(
  "a provider that isn't configured is named, with the one that was probably meant",
  async (t) => {
    const { catalog } = bench({ openai: ["gpt-4o"] });
    const hint = (name: string) => unknownModel(catalog, name).failure.message;
    t.match(hint("opnai/gpt-4o"), /no provider opnai is configured; did you mean openai\?$/);
    t.notMatch(hint("elsewhere/gpt"), /provider/);
  },
);
