/**
 * The commands of docs/command-line.md, as the page writes them, against a gateway that runs: over
 * the daemon's sockets, and from elsewhere by the admin API.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { run } from "../../bin/command-session.js";
import { makeSite } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";
const site = makeSite(
  t,
  `
server: { master_key: ${masterKey} }
entitlements: [quota_templates]
providers:
  openai: { type: simulator, models: [sim-fast] }
virtual_models:
  smart: { targets: [{ model: openai/sim-fast }] }
rate_limits:
  user_paths:
    - { path: /refused, limits: [{ period: day, max_requests: 1 }] }
budgets:
  user_paths:
    - { path: /team, per_child: true, limits: [{ period: daily, amount: 0.05 }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const page = readFileSync(new URL("../../../../docs/command-line.md", import.meta.url), "utf8");
const here = ["--config", site.configFile, "--socket", site.socket];
const env = { SLUICE_API_KEY: masterKey, SLUICE_SOCKET: site.socket };

const byMaster = { authorization: `Bearer ${masterKey}` };
for (let i = 0; i < 2; i++) {
  const asked = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...byMaster, "x-sluice-user-path": "/refused" },
    body: JSON.stringify({ model: "smart", messages: [{ role: "user", content: "hi" }] }),
  });
  await asked.arrayBuffer();
}
/** A command of the page, and how it ends there; null: without an error. */
interface Shown {
  readonly argv: readonly string[];
  readonly fails: boolean;
}

/** What can't be run as it is written: it runs on, or needs a broken file. */
const leftOut = /^sluice (?:up|config check|top|tail)\b|--url/;

function commandsOn(text: string): readonly Shown[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const command = /^\$ (sluice .*)$/.exec(line)?.[1];
    if (command === undefined || leftOut.test(command)) return [];
    const words = command
      .replace(/ [|>].*$/, "")
      .split(" ")
      .slice(1);
    return [{ argv: words, fails: /^(?:error: |\{"error")/.test(lines[at + 1] ?? "") }];
  });
}

/** The ids on the page are those of another gateway. */
async function inThisGateway(
  argv: readonly string[],
  keys: readonly string[],
): Promise<readonly string[]> {
  const response = await fetch(`${url}/admin/refusals`, { headers: byMaster });
  const { refusals: known } = (await response.json()) as {
    readonly refusals: readonly { readonly request_id: string }[];
  };
  return argv.map((word) => {
    if (word.startsWith("req_")) return known[0]!.request_id;
    if (word.endsWith(".csv")) return join(site.directory, word);
    return /^key_\d$/.test(word) ? keys[Number(word.slice(-1)) - 1]! : word;
  });
}

/** Three keys, as the page has them. */
async function issueKeys(where: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const { out } = await run(["keys", "issue", "--name", name, "--json", ...where], { env });
    ids.push((JSON.parse(out) as { readonly id: string }).id);
  }
  return ids;
}

const outcome = (fails: boolean): string => (fails ? "fails" : "is done");

for (const [from, where, left] of [
  ["this host", here, /^$/],
  // It needs the records themselves, or the values of the keys before it.
  ["elsewhere", ["--url", url], /^usage export/],
] as const)
  t.test(`every command of the page does what the page says, from ${from}`, async (t) => {
    const keys = await issueKeys(where);
    const rule = ["limits", "set", "/team", "--rpm", "9", ...where];
    await run(["limits", "delete", "/team", "--period", "minute", ...where], { env });
    let ran = 0;
    for (const { argv, fails } of commandsOn(page)) {
      if (left.test(argv.join(" "))) continue;
      if (argv[0] === "limits" && !fails) await run(rule, { env });
      const given = await inThisGateway(argv, keys);
      const { exitCode, err } = await run([...given, ...where], {
        env,
        cwd: site.directory,
        answer: "y",
        nowMs: Date.now(),
      });
      t.equal(outcome(exitCode !== 0), outcome(fails), `${argv.join(" ")}: ${err}`);
      ran++;
    }
    t.ok(ran > 20, `${ran} commands`);
  });

t.test("a gateway elsewhere that doesn't know the key says which it was", async (t) => {
  const without = await run(["limits", "list", "--url", url]);
  t.match(without, {
    exitCode: 1,
    out: "",
    err: /put the gateway's master key into SLUICE_API_KEY/,
  });
  const file = join(site.directory, "wrong.key");
  writeFileSync(file, "wrong\n");
  const wrong = await run(["limits", "list", "--url", url, "--key-file", file], { env });
  t.match(wrong, { exitCode: 1, err: /the key is that of .*wrong\.key/ });
  t.notMatch(wrong.err, masterKey);
});

t.test("the status of a gateway elsewhere is that of its daemon and its proxy", async (t) => {
  const { exitCode, out } = await run(["status"], { env: { ...env, SLUICE_URL: url } });
  t.equal(exitCode, 0, out);
  t.match(out, /^gateway http:\/\/127\.0\.0\.1:\d+\n {2}version/);
  t.match(out, /^proxy {3}http.* answers 200$/m);
});

t.test("what answers but is no gateway, or nothing that answers, is told", async (t) => {
  t.match(await run(["limits", "list", "--url", `${url}/below`], { env }), { exitCode: 69 });
  t.match(await run(["limits", "list", "--url", "http://127.0.0.1:1"], { env }), {
    exitCode: 69,
    err: "error: nothing listens on http://127.0.0.1:1",
  });
  t.match(await run(["up", "--url", url]), { exitCode: 2, err: /is about this host/ });
});
