/**
 * `sluice prices update`: a newer price list is checked as a whole, replaces the file or leaves it
 * as it was, and prices requests after a reload.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import type { PriceFile } from "../../../proxy/prices/prices-json.js";
import { run } from "../../bin/command-session.js";
import {
  runProgram,
  startProgram,
  temporaryDirectory,
  whenReplaced,
} from "../../bin/program-run.js";
import { parseMetrics } from "../../support/parse-metrics.js";
import { programPath } from "../../support/processes/program-path.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const shipped = JSON.parse(
  readFileSync(new URL("../../../../docs/prices.json", import.meta.url), "utf8"),
) as PriceFile;
const sluice = programPath("sluice");
const directory = temporaryDirectory(t);
const listFile = join(directory, "list.json");
const socket = ["--socket", join(directory, "l.sock")];
const config = ["--config", join(directory, "sluice.yaml")];
const nowMs = Date.parse("2031-05-07T12:00:00Z");

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
const usage = { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 };
provider.answer = (received) =>
  replyJson(received, {
    id: "1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
    usage,
  });
writeFileSync(
  join(directory, "sluice.yaml"),
  `
price_list_file: list.json
server: { drain_grace_seconds: 0 }
providers:
  openai: { type: openai, api_key: none, base_url: "${provider.origin}/v1", models: [gpt-brand-new] }
`,
);

const update = (source: string, ...flags: readonly string[]) =>
  run(["prices", "update", source, ...flags, ...config], { cwd: directory, nowMs });

/** A file with the shipped list, of which `change` makes another. */
function listWith(name: string, change: (list: Changed) => void): string {
  const list = structuredClone(shipped) as unknown as Changed;
  change(list);
  const path = join(directory, name);
  writeFileSync(path, JSON.stringify(list));
  return path;
}

interface Changed {
  date: string;
  readonly providers: Record<
    string,
    Record<
      string,
      {
        readonly rates: Record<string, unknown>;
        contextTokens?: unknown;
        serviceTiers?: unknown;
        tiers?: unknown;
      }
    >
  >;
}

const ratesOf = (input: unknown) => ({ input, output: 2, cachedInput: null, cacheWrite: null });
const newer = listWith("newer.json", (list) => {
  list.date = "2031-05-01";
  list.providers["openai"]!["gpt-brand-new"] = { rates: ratesOf(3_000_000) };
});

const newRates = '"input":3000000,"output":2';

/** What the gateway says, and what a request of a million tokens costs. */
async function look(url: string): Promise<unknown> {
  // Not the connection to a proxy that a reload has replaced.
  const headers = { connection: "close" };
  const ask = async (path: string): Promise<Record<string, unknown>> =>
    (await (await fetch(url + path, { headers })).json()) as Record<string, unknown>;
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify({
      model: "openai/gpt-brand-new",
      messages: [{ role: "user", content: "hi" }],
    }),
  });
  await answer.arrayBuffer();
  const { records } = await ask("/admin/usage/records?limit=1");
  const metrics = parseMetrics(await (await fetch(`${url}/metrics`, { headers })).text());
  return {
    cost: (records as readonly { readonly total_cost: number | null }[])[0]?.total_cost,
    health: (await ask("/health"))["price_list"],
    status: (await ask("/admin/status"))["price_list"],
    metric: metrics.get("sluice_price_list_timestamp_seconds")?.samples.at(-1)?.value,
  };
}

t.test("an update is in force after a reload, without a restart", async (t) => {
  const argv = ["up", "--port=0", ...socket, "--data-dir", join(directory, "data")];
  const up = startProgram(t, sluice, argv, { cwd: directory });
  const url = (await up.line(/^ready: /)).replace(/^ready: +/, "");
  t.match(await look(url), {
    cost: null,
    health: { date: shipped.date, file: /docs\/prices\.json$/ },
    metric: Date.parse(shipped.date) / 1000,
  });

  const { exitCode, out, err } = await update("newer.json");
  t.equal(exitCode, 0, err);
  t.match(out, /list\.json, of 2031-05-01: \d+ models \(1 new, 0 changed, 0 gone\)/);
  t.match(await look(url), { cost: null });
  t.equal((await runProgram(t, sluice, ["reload", ...socket], { cwd: directory })).exitCode, 0);
  await whenReplaced(up);
  const inForce = { date: "2031-05-01", file: listFile };
  t.match(await look(url), {
    cost: 3,
    health: inForce,
    status: inForce,
    metric: Date.parse("2031-05-01") / 1000,
  });
  const status = await runProgram(t, sluice, ["status"], {
    cwd: directory,
    env: { SLUICE_SOCKET: join(directory, "l.sock"), PORT: new URL(url).port },
  });
  t.match(status.out, /price list date +2031-05-01/);
  up.child.kill("SIGTERM");
  await up.ended;
});

t.test("a wrong list changes nothing, and the error names what is wrong", async (t) => {
  const before = readFileSync(listFile, "utf8");
  const wrongRate = (rate: string) => (path: string) =>
    writeFileSync(
      path,
      readFileSync(newer, "utf8").replace(newRates, `"input":${rate},"output":2`),
    );
  const wrong: Readonly<Record<string, readonly [(path: string) => void, RegExp]>> = {
    "cut.json": [
      (path) => writeFileSync(path, readFileSync(newer, "utf8").slice(0, -9)),
      /JSON|Expected/,
    ],
    "absent.json": [() => {}, /no such file/],
    "negative.json": [wrongRate("-1"), /openai\/gpt-brand-new: rates\.input must be .*not -1/],
    "nan.json": [wrongRate("NaN"), /JSON|Unexpected/],
    "infinite.json": [wrongRate("1e999"), /gpt-brand-new: rates\.input must be/],
    "half.json": [wrongRate("0.5"), /gpt-brand-new: rates\.input must be .*not 0\.5/],
    "text.json": [wrongRate('"3"'), /gpt-brand-new: rates\.input must be .*not "3"/],
    "missing.json": [
      (path) => writeFileSync(path, readFileSync(newer, "utf8").replace(newRates, '"output":2')),
      /rates\.input must be .*not missing/,
    ],
    "large.json": [
      (path) => {
        writeFileSync(path, "");
        truncateSync(path, 100_000_000);
      },
      /more than 32 MiB/,
    ],
    "free.json": [
      (path) =>
        void listWith(path.slice(directory.length + 1), (list) => {
          list.date = "2031-05-02";
          list.providers["openai"]!["gpt-4o"]!.rates["input"] = 0;
        }),
      /likely wrong[^]*openai\/gpt-4o: input was 2500000 and is 0/,
    ],
    "dear.json": [
      (path) =>
        void listWith(path.slice(directory.length + 1), (list) => {
          list.date = "2031-05-02";
          list.providers["openai"]!["gpt-4o"]!.rates["output"] = 10_000_000_000;
        }),
      /openai\/gpt-4o: output was 10000000 and is 10000000000/,
    ],
    "factor.json": [
      (path) =>
        void listWith(path.slice(directory.length + 1), (list) => {
          list.date = "2031-05-02";
          list.providers["openai"]!["gpt-5"]!["serviceTiers"] = { flex: { input: 50_000 } };
        }),
      /openai\/gpt-5: factor flex: input was 500 and is 50000/,
    ],
    "long.json": [
      (path) =>
        void listWith(path.slice(directory.length + 1), (list) => {
          list.date = "2031-05-02";
          const { rates } = list.providers["openai"]!["gpt-4o"]!;
          const long = { ...rates, input: 1000 * (rates["input"] as number) };
          list.providers["openai"]!["gpt-4o"]!["tiers"] = [
            { aboveInputTokens: 200_000, rates: long },
          ];
        }),
      /openai\/gpt-4o: tier 1: input was 2500000 and is 2500000000/,
    ],
    "future.json": [
      (path) =>
        void listWith(path.slice(directory.length + 1), (list) => {
          list.date = "2031-05-09";
        }),
      /is of 2031-05-09, which is in the future/,
    ],
    "short.json": [
      (path) =>
        void listWith(path.slice(directory.length + 1), (list) => {
          list.date = "2031-05-02";
          for (const name of Object.keys(list.providers))
            if (name !== "openai") delete list.providers[name];
        }),
      /models are gone/,
    ],
    "older.json": [
      (path) => void listWith(path.slice(directory.length + 1), () => {}),
      /it is of 2026-11-28, the present one of 2031-05-01/,
    ],
    "shipped-is-newer.json": [
      (path) =>
        void listWith(path.slice(directory.length + 1), (list) => {
          list.date = "2020-01-01";
        }),
      /the built-in list of 2026-11-28 is newer/,
    ],
    "map.json": [
      (path) =>
        writeFileSync(
          path,
          JSON.stringify({
            "gpt-x": { litellm_provider: "openai", mode: "chat", input_cost_per_token: -1 },
          }),
        ),
      /gpt-x\.input_cost_per_token: -1 is no price/,
    ],
    "other.json": [(path) => writeFileSync(path, "[]"), /must be an object/],
  };
  for (const [name, [make, message]] of Object.entries(wrong)) {
    make(join(directory, name));
    const { exitCode, err } = await update(name);
    t.equal(exitCode, 1, name);
    t.match(err.replaceAll(shipped.date, "2026-11-28"), message, name);
    t.equal(readFileSync(listFile, "utf8"), before, name);
  }
  const { exitCode, out } = await update("dear.json", "--force");
  t.equal(exitCode, 0, "the operator may insist");
  t.match(out, /of 2031-05-02/);
  t.equal(readFileSync(`${listFile}.previous`, "utf8"), before, "the former list remains");
  t.equal((await update("newer.json", "--force")).exitCode, 0, "also to go back");
});

t.test("LiteLLM's map is converted as for a release; a URL is https", async (t) => {
  const map = {
    sample_spec: { litellm_provider: "one of them", input_cost_per_token: 0 },
    "gpt-mapped": {
      litellm_provider: "openai",
      mode: "chat",
      input_cost_per_token: 2e-6,
      output_cost_per_token: 8e-6,
    },
  };
  let body = JSON.stringify(map);
  let redirect = "";
  const server = createServer(({ url: path }, response) =>
    redirect === "" || path === "/there"
      ? response.end(body)
      : response.writeHead(302, { location: redirect }).end(),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/map.json`;
  t.match((await update(url)).err, /\d+ of \d+ models are gone/);
  t.equal((await update(url, "--force")).exitCode, 0);
  const { date, providers } = JSON.parse(readFileSync(listFile, "utf8")) as PriceFile;
  t.equal(date, "2031-05-07");
  t.match(providers["openai"]!["gpt-mapped"]!.rates, { input: 2_000_000, output: 8_000_000 });
  body = " ".repeat(40_000_000);
  t.match((await update(url)).err, /more than 32 MiB/);
  t.match((await update("http://example.com/map.json")).err, /must be https/);
  body = JSON.stringify(map);
  for (const [location, message] of [
    ["http://192.0.2.1/map.json", /must be https/],
    ["file:///etc/passwd", /must be https/],
    ["/again", /redirects more than 5 times/],
  ] as const) {
    redirect = location;
    t.match((await update(url, "--force")).err, message, location);
  }
  redirect = "/there";
  t.equal((await update(url.replace("/map.json", "/first"), "--force")).exitCode, 0);
});

const disk = join(directory, "disk");
mkdirSync(disk);
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
t.teardown(() => {
  if (mounted.status === 0) spawnSync("umount", [disk]);
});

t.test(
  "on a full disk the former list stays",
  { skip: mounted.status === 0 ? false : "needs the right to mount a file system" },
  async (t) => {
    const path = join(disk, "list.json");
    writeFileSync(path, "the former list");
    const { exitCode, err } = await run(["prices", "update", "newer.json", ...config], {
      cwd: directory,
      nowMs,
      env: { SLUICE_PRICE_LIST_FILE: path },
    });
    t.equal(exitCode, 1);
    t.match(err, /list\.json can't be written: no space left on device; it is unchanged/);
    t.equal(readFileSync(path, "utf8"), "the former list");
    rmSync(path);
  },
);

t.test("without the setting nothing is written", async (t) => {
  writeFileSync(join(directory, "plain.yaml"), "");
  const { exitCode, err } = await run(
    ["prices", "update", "newer.json", "--config", join(directory, "plain.yaml")],
    { cwd: directory },
  );
  t.equal(exitCode, 2);
  t.match(err, /price_list_file isn't set/);
});
