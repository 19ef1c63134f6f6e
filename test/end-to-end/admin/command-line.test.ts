/**
 * The commands of docs/reference/command-line.md, as the page writes them, against a gateway that
 * runs: over the daemon's sockets, and from elsewhere by the admin API.
 */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import t from "tap";
import { examples } from "../../../bin/examples.js";
import { createProgram } from "../../../bin/program.js";
import { stoppedFailure } from "../../../bin/session/command-failure.js";
import { run, sessionForTests } from "../../bin/command-session.js";
import { agesSeconds } from "../../support/ages.js";
import { exactly } from "../../support/patterns/exactly.js";
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
    - { path: /refused, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
    - { path: /team, limits: [{ period: minute, max_requests: 100 }] }
budgets:
  user_paths:
    - { path: /team, per_child: true, limits: [{ period: daily, amount: 0.05 }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const page = readFileSync(
  new URL("../../../../docs/reference/command-line.md", import.meta.url),
  "utf8",
);
/** The page, with all examples of the help under the heading of their command. */
const shown = page
  .split("\n")
  .flatMap((line) => {
    const name = /^### sluice (.*)$/.exec(line)?.[1];
    const ofHelp = (examples[name ?? ""] ?? []).filter((each) => each !== `sluice ${name}`);
    if (name !== undefined) return [line, ...ofHelp.map((each) => `$ ${each}`)];
    return Object.values(examples).some((lines) => lines.includes(line.slice(2))) ? [] : [line];
  })
  .join("\n");
const here = ["--config", site.configFile, "--socket", site.socket];
const env = { SLUICE_API_KEY: masterKey, SLUICE_SOCKET: site.socket };

/** Of a limit in which a test counts. */
const ages = ["--period-seconds", String(agesSeconds)];
const byMaster = { authorization: `Bearer ${masterKey}` };
for (let i = 0; i < 2; i++) await chatOn("/refused", "smart");

async function chatOn(path: string, model: string): Promise<void> {
  const asked = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...byMaster, "x-sluice-user-path": path },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
  });
  await asked.arrayBuffer();
}
/** A command of the page, and how it ends there; null: without an error. */
interface Shown {
  readonly argv: readonly string[];
  readonly fails: boolean;
}

/**
 * What can't be run as it is written: it runs on, needs a file, a database, a bill, a store at rest
 * or a budget of the configuration, or ends with the code for differences or findings.
 */
const leftOut =
  /^sluice (?:up|init|config check|top|tail|backup|restore|verify|reload|prices update|usage follow|reconcile|doctor|budgets revert|import)\b|--(?:url|watch|exit-code|value-file)/;

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
    if (/\.(?:csv|yaml)$/.test(word)) return join(site.directory, word);
    return /^key_\d$/.test(word) ? keys[Number(word.slice(-1)) - 1]! : word;
  });
}

writeFileSync(
  join(site.directory, "limits.yaml"),
  `rate_limits:
  user_paths: [{ path: /team/from-a-file, limits: [{ period: day, max_tokens: 200000 }] }]
budgets: {}
`,
);

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
  // These are about the host that they run on.
  ["elsewhere", ["--url", url], /^(?:providers check|config schema|completion|man|exit-codes)/],
] as const)
  t.test(`every command of the page does what the page says, from ${from}`, async (t) => {
    const keys = await issueKeys(where);
    const rule = ["limits", "set", "/team", "--rpm", "9", ...where];
    await run(["limits", "delete", "/team", "--period", "minute", ...where], { env });
    let ran = 0;
    for (const { argv, fails } of commandsOn(shown)) {
      if (left.test(argv.join(" "))) continue;
      if (argv[0] === "limits" && !fails) await run(rule, { env });
      if (argv[1] === "enforce") await run([...rule, "--shadow"], { env });
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

for (const [from, where] of [
  ["here", here],
  ["elsewhere", ["--url", url]],
] as const)
  t.test(
    `limits as a file: the plan, a refusal, all at once, and nothing the second time, from ${from}`,
    async (t) => {
      const command = (...argv: string[]): ReturnType<typeof run> =>
        run([...argv, ...where], {
          env,
          cwd: site.directory,
          answer: argv.includes("-y") ? "y" : null,
        });
      const path = `/file/${from}`;
      writeFileSync(join(site.directory, "none.yaml"), "rate_limits: {}\n");
      const write = (limits: string): void =>
        writeFileSync(
          join(site.directory, "reviewed.yaml"),
          `rate_limits:\n  user_paths:\n    - { path: ${path}, limits: [${limits}] }\n    - { path: ${path}/b, limits: [{ period: day, max_tokens: 5 }] }\n`,
        );
      write("{ period: minute, max_requests: 3 }");
      const plan = await command("limits", "apply", "reviewed.yaml", "--dry-run");
      t.match(plan, { exitCode: 0, out: new RegExp(`^\\+  rule .* ${path} .* 3 requests$`, "m") });
      t.match(plan.out, "2 to add");
      t.notMatch((await command("limits", "list")).out, path, "nothing was changed");
      const differs = await command("limits", "apply", "reviewed.yaml", "--dry-run", "--exit-code");
      t.match(differs, { exitCode: 2, out: /2 to add/ });
      t.match(await command("limits", "apply", "reviewed.yaml"), {
        exitCode: 2,
        err: /--yes is required/,
      });
      t.match(await command("limits", "apply", "reviewed.yaml", "--yes"), {
        exitCode: 0,
        out: /applied: 2 added/,
      });
      t.match(await command("limits", "apply", "reviewed.yaml", "--yes"), {
        exitCode: 0,
        out: "nothing to change: 2 unchanged",
      });
      const same = await command("limits", "apply", "reviewed.yaml", "--dry-run", "--exit-code");
      t.match(same, { exitCode: 0, out: /^nothing to change/ });
      write("{ period: minute, max_requests: 0 }, { period: day, max_requests: 1 }");
      // Whatever is wrong isn't a difference.
      for (const wrong of [
        ["reviewed.yaml", "--dry-run"],
        ["no-file.yaml", "--dry-run"],
        ["none.yaml"],
        ["none.yaml", "--dry-run", "--unknown"],
        ["none.yaml", "--dry-run", "--socket", "/nowhere/sluice.sock"],
      ])
        t.match(
          await run(["limits", "apply", ...where, ...wrong, "--exit-code"], {
            env,
            cwd: site.directory,
          }),
          { exitCode: 1, err: /./ },
          wrong.join(" "),
        );
      t.match(await command("limits", "apply", "reviewed.yaml", "--yes"), {
        exitCode: 2,
        err: /^reviewed\.yaml:3:\d+: rate_limits\.user_paths\[0\]\.limits\[0\]\.max_requests must be greater than 0, not 0\nnothing was changed$/,
      });
      const exported = await command("limits", "export");
      t.match(
        exported.out,
        `    - path: ${path}\n      limits:\n        - { period: minute, max_requests: 3 }`,
      );
      writeFileSync(join(site.directory, "exported.yaml"), exported.out);
      t.match(await command("limits", "apply", "exported.yaml", "--prune", "--yes"), {
        exitCode: 0,
        out: /^nothing to change/,
      });
      const pruned = await command("limits", "apply", "none.yaml", "--prune", "--yes", "--json");
      t.match(JSON.parse(pruned.out), { applied: true, counts: { add: 0 } });
      t.notMatch((await command("limits", "list")).out, path);
    },
  );

/** Each command with `--json`, and how it is run here. */
const withJson: Readonly<Record<string, readonly string[]>> = {
  "limits list": ["--children"],
  "limits set": ["/json", "--rpm", "5"],
  "limits raise": ["/json", "--rpm", "9", "--for", "1h", "--reason", "r"],
  "limits reset": ["/json", "--period", "minute"],
  "limits enforce": ["/json", "--period", "minute"],
  "limits revert": ["/json", "--period", "minute"],
  "limits test": ["/team", "--rpm", "5"],
  "limits delete": ["/json", "--period", "minute"],
  "limits export": [],
  "limits apply": ["limits.yaml", "--dry-run"],
  "keys issue": ["--label", "CamelCase"],
  "keys list": [],
  "keys show": ["key_1"],
  "keys rotate": ["key_1"],
  "keys deactivate": ["key_1"],
  "keys delete": ["key_1"],
  "jwts deny": ["--jti", "j", "--issuer", "https://i.example"],
  "jwts list": [],
  "jwts allow": ["--jti", "j", "--issuer", "https://i.example"],
  "budgets list": ["--children"],
  "budgets set": ["/json", "--daily", "5"],
  "budgets forecast": [],
  "budgets raise": ["/json", "--period", "daily", "--amount", "9", "--for", "1h", "--reason", "r"],
  "budgets reset": ["/json", "--period", "daily"],
  "budgets revert": ["/json", "--period", "daily"],
  "budgets delete": ["/json", "--period", "daily"],
  "budgets settings": [],
  explain: ["--path", "/refused", "--model", "smart"],
  usage: ["--by", "model"],
  "usage reprice": ["--from", "2026-01-01", "--dry-run"],
  "usage follow": ["--to", "ndjson", "--output", "followed.ndjson", "--once"],
  reconcile: ["--provider", "simulator", "--bill", "bill.csv"],
  status: [],
  top: [],
  tenant: ["/refused"],
  tenants: ["--sort", "refusals"],
  "in-flight": [],
  queues: [],
  request: ["req_unknown"],
  requests: [],
  sessions: [],
  audit: ["--last", "1h"],
  "alerts test": [],
  tail: [],
  "providers list": [],
  "providers check": [],
  "providers traffic": [],
  backup: [join(site.directory, "json.backup")],
  verify: [],
  "verify-store": [join(site.directory, "json.backup")],
  restore: [
    join(site.directory, "json.backup"),
    "--yes",
    "--data-dir",
    join(site.directory, "restored"),
  ],
  doctor: ["--offline"],
  "config check": [],
  "config show": [],
};

/** The commands below one that take `--json`, by their full names. */
function takesJson({ commands }: Command, above = ""): readonly string[] {
  return commands.flatMap((command) => {
    const name = `${above}${command.name()}`;
    const own = command.options.some(({ long }) => long === "--json") ? [name] : [];
    return [...own, ...takesJson(command, `${name} `)];
  });
}

function fieldsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(fieldsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...fieldsIn(inner)]);
}

t.test("the JSON of every command has its fields in snake_case", async (t) => {
  const { session } = sessionForTests();
  t.same([...takesJson(createProgram(session))].sort(), Object.keys(withJson).sort());
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  writeFileSync(
    join(site.directory, "bill.csv"),
    `date,model,kind,quantity,amount\n${yesterday},sim-fast,output,10,0.5\n`,
  );
  const keys = await issueKeys(here);
  for (const [name, rest] of Object.entries(withJson)) {
    let looks = 0;
    const argv = await inThisGateway([...name.split(" "), ...rest, "--json"], keys);
    const { out, err } = await run([...argv, ...here], {
      env,
      cwd: site.directory,
      nowMs: Date.now(),
      async pause() {
        if (++looks === 3) throw stoppedFailure();
        await chatOn("/refused", "smart");
        await chatOn("/json", "smart");
      },
    });
    const fields = `${out}\n${err}`.split("\n").flatMap((line) => {
      if (!/^[{[]/.test(line)) return [];
      return fieldsIn(JSON.parse(line));
    });
    t.not(fields.length, 0, `${name}: ${err}`);
    t.same(
      fields.filter((field) => !/^[a-z][a-z\d]*(?:_[a-z\d]+)*$/.test(field)),
      [],
      name,
    );
  }
});

t.test("a gateway elsewhere that doesn't know the key says which it was", async (t) => {
  const without = await run(["limits", "list", "--url", url]);
  t.match(without, {
    exitCode: 1,
    out: "",
    err: /put the gateway's master key, or a key of administration, into SLUICE_API_KEY/,
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

t.test("an address without a gateway, or without an answer, is reported", async (t) => {
  t.match(await run(["limits", "list", "--url", `${url}/below`], { env }), { exitCode: 69 });
  t.match(await run(["limits", "list", "--url", "http://127.0.0.1:1"], { env }), {
    exitCode: 69,
    err: "error: nothing listens on http://127.0.0.1:1",
  });
  t.match(await run(["up", "--url", url]), { exitCode: 2, err: /is about this host/ });
});

t.test("requests and refusals are followed, here and from elsewhere", async (t) => {
  for (const where of [here, ["--url", url]]) {
    let looks = 0;
    const { out } = await run(["tail", "--path", "/refused", "--json", ...where], {
      env,
      async pause() {
        if (++looks === 4) throw stoppedFailure();
        if (looks === 1) await chatOn("/refused", "smart");
        if (looks === 2) await chatOn("/refused/not", "openai/sim-fast");
      },
    });
    const refusal = out.split("\n").find((line) => line.includes('"kind":"refusal"'));
    t.match(JSON.parse(refusal ?? "{}"), { kind: "refusal", user_path: "/refused" });
  }
});

t.test("a follower that has ended with --once isn't behind, whatever comes after it", async (t) => {
  for (const [name, where] of [
    ["cron-here", here],
    ["cron-elsewhere", ["--url", url]],
  ] as const) {
    await chatOn("/cron", "smart");
    const output = join(site.directory, `${name}.ndjson`);
    const flags = ["--to", "ndjson", "--output", output, "--once", "--name", name];
    t.match(await run(["usage", "follow", ...flags, ...where], { env }), { exitCode: 0 });
    await chatOn("/cron", "smart");
    const { out } = await run(["status", "--json", ...where], { env });
    const { followers } = (JSON.parse(out) as { daemon: { followers: { name: string }[] } }).daemon;
    const own = followers.filter((follower) => follower.name === name);
    t.equal(own.length, 1);
    t.match(own[0], { lag_seconds: 0, finished: true });
  }
});

t.test("children of templates are listed below them, again and again", async (t) => {
  await run(["limits", "set", "/users", ...ages, "--requests", "5", "--per-child", ...here], {
    env,
  });
  await chatOn("/users/ann", "openai/sim-fast");
  let looks = 0;
  const { out, exitCode } = await run(["limits", "list", "--children", "--watch", ...here], {
    env,
    async pause() {
      if (++looks === 2) throw stoppedFailure();
    },
  });
  t.equal(exitCode, 130);
  t.equal(out.match(/\/users\/ann \(child\) +\d+s +1\/5/g)?.length, 2, out);
  const listed = async (...flags: readonly string[]): Promise<string> =>
    (await run(["limits", "list", ...flags, ...here], { env })).out;
  t.match(await listed("--sort", "used"), /\/users\/ann \(child\) +\d+s +1\/5/);
  const ofAnn = await listed("--for", "/users/ann/app");
  t.match(ofAnn, /\/users\/ann \(child\) +\d+s +1\/5/);
  t.notMatch(ofAnn, /each child/);
  t.match(await listed("--path", "/users/new"), /\/users\/new \(child\) +\d+s +0\/5/);
  t.match(await run(["limits", "list", "--sort", "size", ...here], { env }), {
    exitCode: 2,
    err: /--sort must be name or used, not "size"/,
  });
});

t.test("one key is shown by its id or itself, and tables fit the terminal", async (t) => {
  const issued = await run(
    ["keys", "issue", "--path", "/team/shown", "--name", "shown", "--json", ...here],
    { env },
  );
  const { id, value } = JSON.parse(issued.out);
  for (const where of [here, ["--url", url]])
    for (const name of [id, value]) {
      const { out } = await run(["keys", "show", name, ...where], { env });
      t.match(out, new RegExp(`^${id}\\n  name +shown\\n  path +/team/shown\\n`));
      t.notMatch(out, value);
    }
  t.match(await run(["keys", "show", "key_999", ...here], { env }), {
    exitCode: 3,
    err: "error: no key key_999 is known",
  });
  t.match(await run(["keys", "show", "mine", ...here], { env }), { exitCode: 2 });
  const narrow = await run(["keys", "list", ...here], { env, columns: 80 });
  const [table = ""] = narrow.out.split("\n(--wide");
  t.ok(
    table.split("\n").every((line) => line.length <= 80),
    table,
  );
  t.match(narrow.out, /^\(--wide also shows .*CREATED\)$/m);
  const wide = await run(["keys", "list", "--wide", ...here], { env, columns: 80 });
  t.match(wide.out, /^ID .* CREATED$/m);
  t.notMatch(wide.out, /--wide/);
});

t.test("a tenant is on one screen", async (t) => {
  await run(["limits", "set", "/tenants", ...ages, "--requests", "1", "--per-child", ...here], {
    env,
  });
  await run(["budgets", "set", "/tenants", "--daily", "5", "--per-child", ...here], { env });
  await run(["keys", "issue", "--path", "/tenants/acme/app", "--name", "acme app", ...here], {
    env,
  });
  for (const model of ["openai/sim-fast", "openai/sim-fast", "openai/none"])
    await chatOn("/tenants/acme/app", model);
  for (const where of [here, ["--url", url]]) {
    const { out, err, exitCode } = await run(["tenant", "/tenants/acme", ...where], { env });
    t.equal(exitCode, 0, err);
    for (const line of [
      /^\/tenants\/acme, .* \(UTC\): \d+ requests, \d+ tokens, \$\d/,
      /^BUDGETS\n.*\n.*\/tenants\/acme \(child\) +daily/m,
      /^LIMITS\n[^]*\/tenants\/acme \(child\) +\d+s +1\/1/m,
      /^KEYS\n[^]*acme app +\/tenants\/acme\/app/m,
      /^LAST REFUSALS\n.*\n.*\/tenants\/acme\/app .*\d+s/m,
    ])
      t.match(out, line);
    t.notMatch(out, /\/refused/);
  }
  for (const where of [here, ["--url", url]]) {
    const asked = ["tenants", "--path", "/tenants", "--sort", "spend", ...where];
    const recent = await run([...asked, "--last", "3h"], { env, nowMs: Date.now() });
    t.match(recent, {
      exitCode: 0,
      out: /\/tenants\/acme/,
      err: /spend of .* \d\d:\d\d.*Z to now/,
    });
    const before = ["--from", "2026-02-01T10:00Z", "--to", "2026-02-01T12:00Z", "--json"];
    const { out } = await run([...asked, ...before], { env });
    t.match(JSON.parse(out), {
      ...{ start: "2026-02-01T10:00:00.000Z", end: "2026-02-01T12:00:00.000Z" },
      tenants: exactly([
        { user_path: "/tenants/acme", refusals: 0, usage: { requests: 0 } },
        { user_path: "/tenants/acme/app", refusals: 0 },
      ]),
    });
    t.match(await run([...asked, "--last", "8d"], { env, nowMs: Date.now() }), {
      exitCode: 2,
      err: /--last may be at most 7 days/,
    });
  }
  const { out } = await run(["tenant", "/tenants/nobody", ...here], { env });
  t.match(out, /LAST FAILURES\nnone/);
  t.match(await run(["tenant", "/a/../b", ...here], { env }), { exitCode: 2 });
});

t.test("a key is issued with a budget for its path", async (t) => {
  const issued = await run(["keys", "issue", "--path", "/users/bob", "--monthly", "20", ...here], {
    env,
  });
  t.match(issued, { exitCode: 0, err: /budget of \/users\/bob: \$20\.00 a month/ });
  const { out } = await run(["budgets", "list", "--path", "/users/bob", ...here], { env });
  t.match(out, /\/users\/bob +monthly +\$0\.00 \/ \$20\.00/);
  t.match(await run(["keys", "issue", "--monthly", "x"], { env }), {
    exitCode: 2,
    err: /--monthly must be .*[^]*--monthly needs --path/,
  });
});

t.test("a month of usage ends today", async (t) => {
  const nowMs = Date.now();
  const { out } = await run(["usage", "--month", ...here], { env, nowMs });
  const today = new Date(nowMs).toISOString().slice(0, 10);
  t.match(out, new RegExp(`${today.slice(0, 8)}01 to ${today}`));
  t.match(await run(["usage", "--month", "2026-13"]), { exitCode: 2, err: /must be a month/ });
});

t.test("a first configuration is written once, and is right", async (t) => {
  const cwd = t.testdir({});
  t.match(await run(["init"], { cwd, env: { OPENAI_API_KEY: "sk-proj-x" } }), {
    exitCode: 0,
    out: /^written: sluice\.yaml, with openai/,
  });
  t.equal(statSync(join(cwd, "sluice.yaml")).mode & 0o777, 0o600);
  const checked = await run(["config", "check"], { cwd, env: { OPENAI_API_KEY: "sk-proj-x" } });
  t.match(checked, { exitCode: 0, err: "" });
  t.match(await run(["init"], { cwd }), { exitCode: 1, err: /is there already/ });
  const shown = await run(["config", "show", "--changed"], {
    cwd,
    env: { PORT: "1", OPENAI_API_KEY: "k" },
  });
  t.match(shown.out, /server\.port +1 +variable PORT[^]*server\.master_key +set +file/);
});
