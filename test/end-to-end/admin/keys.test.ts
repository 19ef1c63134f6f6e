/**
 * Managed keys through real processes: a daemon, two proxies, the command line, and the files and
 * lines that they leave behind.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { hashKey, makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite, type Site } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";

const masterKey = "master-key-of-the-test";
const byMaster = { authorization: `Bearer ${masterKey}` };
const sluice = programPath("sluice");

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly error?: Record<string, unknown> };
  readonly headers: Headers;
}

async function call(
  url: string,
  token: string | null,
  {
    path = "/v1/chat/completions",
    headers = {},
    body = JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "hi" }] }),
  }: { path?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const post = path === "/v1/chat/completions";
  const response = await fetch(`${url}${path}`, {
    method: post ? "POST" : "GET",
    headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
    ...(post ? { body } : {}),
  });
  return {
    status: response.status,
    body: (await response.json()) as Answer["body"],
    headers: response.headers,
  };
}

interface Issued {
  readonly id: string;
  readonly value: string;
  readonly [field: string]: unknown;
}

async function issue(
  url: string,
  body: object,
  headers: Record<string, string> = byMaster,
): Promise<Issued> {
  const answer = await admin(url, "POST /auth-keys", body, headers);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer));
  return answer.body as unknown as Issued;
}

async function deactivate(url: string, id: string): Promise<number> {
  const response = await fetch(`${url}/admin/auth-keys/${id}/deactivate`, {
    method: "POST",
    headers: byMaster,
  });
  t.equal(await response.text(), "");
  return response.status;
}

function list(url: string): Promise<readonly Record<string, unknown>[]> {
  return admin(url, "GET /auth-keys", undefined, byMaster).then(
    ({ body }) => body as unknown as readonly Record<string, unknown>[],
  );
}

function cli(site: Site, ...argv: string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [sluice, "--socket", site.socket, ...argv], {
    cwd: site.directory,
    env: { PATH: process.env["PATH"] },
  });
}

const limited = `
server: { master_key: ${masterKey}, max_body_bytes: 1000000 }
rate_limits:
  user_paths: [{ path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000 }] }]
`;

t.test(
  "a key is issued, calls on its path alone, is listed without itself, and is refused once it is deactivated or has expired",
  async (t) => {
    const site = makeSite(t, limited);
    await site.startDaemon();
    const proxy = await site.startProxy();
    const url = proxy.ready;
    const key = await issue(url, { name: "CI", user_path: "team/app", labels: ["ci", "team"] });
    t.match(
      key,
      exactly({
        id: "key_1",
        name: "CI",
        user_path: "/team/app",
        labels: ["ci", "team"],
        status: "active",
        active: true,
        expires_at: null,
        deactivated_at: null,
        value: /^sk-sluice-[\w-]{43}$/,
      }),
    );
    for (const headers of [
      {},
      { "x-sluice-user-path": "/elsewhere" },
      { "x-sluice-user-path": "a:b" },
    ]) {
      const answer = await call(url, key.value, { headers });
      t.equal(answer.status, 200, JSON.stringify(headers));
      t.equal(
        answer.headers.get("x-ratelimit-limit-requests"),
        "100000",
        "the key's path is limited",
      );
    }
    t.equal((await call(url, null, { headers: { "x-api-key": key.value } })).status, 200);
    t.equal((await call(url, key.value, { path: "/v1/models" })).status, 200);
    t.match(
      (await admin(url, "GET /rate-limits", undefined, byMaster)).body.rate_limits,
      exactly([{ subject: "/team", requests_used: 4 }]),
    );

    const unbound = await issue(url, {});
    t.match(unbound, { id: "key_2", name: null, user_path: null, labels: { length: 0 } });
    t.equal(
      (
        await call(url, unbound.value, { headers: { "x-sluice-user-path": "/team/x" } })
      ).headers.get("x-ratelimit-limit-requests"),
      "100000",
    );
    t.equal((await call(url, unbound.value)).headers.get("x-ratelimit-limit-requests"), null);
    t.match(await call(url, unbound.value, { headers: { "x-sluice-user-path": "a:b" } }), {
      status: 400,
      body: { error: { message: "invalid X-Sluice-User-Path header" } },
    });
    t.match(await call(url, makeManagedKey().value, { headers: { "x-sluice-user-path": "a:b" } }), {
      status: 401,
    });

    const listed = await list(url);
    t.match(
      listed,
      exactly([{ id: "key_2" }, { id: "key_1", redacted_value: `${key.value.slice(0, 14)}…` }]),
    );
    t.notOk(listed.some((item) => "value" in item || "hash" in item));
    const { body: rotated } = await admin(url, "POST /auth-keys/key_1/rotate", {}, byMaster);
    t.match(
      rotated,
      exactly({ id: "key_1", old_secrets: [{ redacted_value: listed[1]!.redacted_value }] }),
    );
    for (const secret of [key.value, String(rotated["value"])])
      t.equal((await call(url, secret)).headers.get("x-ratelimit-limit-requests"), "100000");
    t.equal(await deactivate(url, "key_1"), 204);
    t.equal((await call(url, String(rotated["value"]))).status, 401);
    t.match(await call(url, key.value), {
      status: 401,
      body: { error: { message: "authentication failed" } },
    });
    t.equal((await call(url, key.value, { path: "/v1/models" })).status, 401);
    t.match(
      await list(url),
      exactly([
        { id: "key_2", status: "active" },
        { id: "key_1", status: "deactivated", active: false },
      ]),
    );
    t.equal(await deactivate(url, "key_1"), 204, "once more");
    t.match(await admin(url, "POST /auth-keys/key_9/deactivate", undefined, byMaster), {
      status: 404,
      body: {
        type: "not_found_error",
        code: null,
        message: "no key key_9 is known",
        status_code: 404,
      },
    });
    const remove = (id: string): Promise<Response> =>
      fetch(`${url}/admin/auth-keys/${id}`, { method: "DELETE", headers: byMaster });
    t.match(await list(url), { length: 2 });
    t.equal((await remove("key_1")).status, 204);
    t.match(await list(url), exactly([{ id: "key_2" }]));
    t.equal((await remove("key_1")).status, 404);
    t.equal((await fetch(`${url}/admin/auth-keys/key_2`, { method: "DELETE" })).status, 401);
    t.match(await admin(url, "GET /auth-keys?unused_seconds=30d", undefined, byMaster), {
      status: 400,
      body: {
        param: "unused_seconds",
        message: 'unused_seconds must be a number of seconds from 1, not "30d"',
      },
    });
    t.match(await admin(url, "POST /auth-keys", { user_path: "/a", expires: "x" }, byMaster), {
      status: 400,
      body: {
        param: "expires",
        message: "unknown field expires: expected name, user_path, labels, models, expires_at",
      },
    });
    for (const [method, path, allow] of [
      ["DELETE", "/admin/auth-keys", "GET, POST"],
      ["GET", "/admin/auth-keys/key_1/deactivate", "POST"],
      ["GET", "/admin/auth-keys/key_1", "DELETE"],
    ] as const) {
      const response = await fetch(`${url}${path}`, { method, headers: byMaster });
      t.match([response.status, response.headers.get("allow")], exactly([405, allow]));
    }
  },
);

t.test(
  "every wrong token gets the same 401, whatever else is wrong with the request, and /admin stays shut",
  async (t) => {
    const site = makeSite(t, limited);
    await site.startDaemon();
    const { ready: url } = await site.startProxy();
    const good = await issue(url, { user_path: "/team" });
    const gone = await issue(url, { user_path: "/team" });
    await deactivate(url, gone.id);
    const wrong: Readonly<Record<string, string>> = {
      unknown: makeManagedKey().value,
      deactivated: gone.value,
      "one character off": `${good.value.slice(0, -2)}${good.value.at(-2) === "A" ? "B" : "A"}${good.value.at(-1)}`,
      "another case": good.value.toUpperCase(),
      "a character short": good.value.slice(0, -1),
      "its hash": hashKey(good.value),
      "a hash with the prefix": `sk-sluice-${hashKey(good.value)}`,
      "its id": good.id,
      "no key at all": "sk-nothing",
    };
    const answers: string[] = [];
    for (const [name, token] of Object.entries(wrong)) {
      const requests = [
        {},
        { path: "/v1/models" },
        { body: "{" },
        { body: JSON.stringify({ model: "nothing", messages: [] }) },
        { body: JSON.stringify({ model: "sim-fast", messages: [], x: "x".repeat(400_000) }) },
        { body: "x".repeat(1_100_000) },
        { headers: { "x-sluice-user-path": "a:b" } },
      ];
      for (const request of requests) {
        const { status, body, headers } = await call(url, token, request);
        answers.push(JSON.stringify([status, body, headers.get("www-authenticate")]));
      }
      const { status, body } = await admin(url, "GET /auth-keys", undefined, {
        authorization: `Bearer ${token}`,
      });
      t.match(
        [status, body],
        exactly([401, { type: "authentication_error", message: "authentication failed" }]),
        name,
      );
    }
    t.same(
      [...new Set(answers)],
      [
        JSON.stringify([
          401,
          {
            error: {
              type: "authentication_error",
              message: "authentication failed",
              code: null,
              param: null,
            },
          },
          "Bearer",
        ]),
      ],
    );
    t.equal(
      (await call(url, good.value, { body: "{" })).status,
      400,
      "an authorized caller learns what is wrong",
    );
    t.equal((await call(url, good.value, { body: "x".repeat(1_100_000) })).status, 413);
    t.equal(
      (await call(url, good.value, { body: JSON.stringify({ model: "nothing", messages: [] }) }))
        .status,
      404,
    );
    for (const [method, path] of [
      ["GET", "/auth-keys"],
      ["POST", "/auth-keys"],
      ["GET", "/rate-limits"],
      ["POST", `/auth-keys/${good.id}/deactivate`],
      ["POST", "/explain"],
    ] as const) {
      t.match(
        await admin(url, `${method} ${path}`, method === "POST" ? {} : undefined, {
          authorization: `Bearer ${good.value}`,
        }),
        { status: 403, body: { type: "permission_error", code: null } },
        `${method} ${path}`,
      );
    }
    t.equal((await list(url)).length, 2, "nothing was issued");
    // Of a client that waits with its body: what it is told, a 100 among it.
    const answersTo = async (token: string): Promise<readonly number[]> => {
      const body = JSON.stringify({ model: "sim-fast", messages: [] });
      const waiting = httpRequest(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${token}`, expect: "100-continue" },
          "content-length": body.length,
        },
      });
      const statuses: number[] = [];
      waiting.on("continue", () => {
        statuses.push(100);
        waiting.end(body);
      });
      waiting.flushHeaders();
      const [response] = (await once(waiting, "response")) as [IncomingMessage];
      response.resume();
      waiting.destroy();
      return [...statuses, response.statusCode ?? 0];
    };
    t.same(await answersTo(good.value), [100, 200]);
    for (const token of Object.values(wrong)) t.same(await answersTo(token), [401]);
  },
);

t.test(
  "under load in two proxies no request that begins after the answer to a deactivation is served",
  async (t) => {
    const site = makeSite(t, limited);
    await site.startDaemon();
    const proxies = await Promise.all([site.startProxy(), site.startProxy()]);
    const urls = proxies.map(({ ready }) => ready);
    for (let round = 0; round < 5; round++) {
      const key = await issue(urls[round % 2]!, { user_path: "/team" });
      const other = await issue(urls[0]!, { user_path: "/team" });
      let deactivatedAt = Number.POSITIVE_INFINITY;
      let stop = false;
      const late: number[] = [];
      let served = 0;
      let denied = 0;
      const worker = async (url: string): Promise<void> => {
        while (!stop) {
          const began = performance.now();
          const { status } = await call(url, key.value);
          if (status === 200) served++;
          else denied++;
          if (began > deactivatedAt) late.push(status);
        }
      };
      const workers = urls.flatMap((url) => [worker(url), worker(url), worker(url), worker(url)]);
      await until(
        async () => served,
        (count) => count >= 40,
      );
      t.equal(await deactivate(urls[(round + 1) % 2]!, key.id), 204);
      deactivatedAt = performance.now();
      await until(
        async () => late.length,
        (count) => count >= 40,
      );
      stop = true;
      await Promise.all(workers);
      t.same(
        [...new Set(late)],
        [401],
        `${served} served, ${denied} denied, ${late.length} after the answer`,
      );
      t.equal((await call(urls[1]!, other.value)).status, 200, "another key of the path goes on");
    }
  },
);

t.test(
  "an open gateway ends with the first key, in every proxy, for /admin too, and doesn't come back",
  async (t) => {
    const site = makeSite(t, "{}");
    const daemon = await site.startDaemon();
    const [first, second] = await Promise.all([site.startProxy(), site.startProxy()]);
    for (const { ready } of [first, second]) {
      t.equal((await call(ready, null)).status, 200);
      t.equal((await call(ready, "anything")).status, 200);
      t.equal(
        (await call(ready, makeManagedKey().value)).status,
        401,
        "an unknown managed key isn't an anonymous caller",
      );
    }
    const key = await issue(first.ready, { user_path: "/team" }, {});
    t.match(key, { notice: /^the first key closes this gateway for good/ });
    for (const { ready } of [first, second]) {
      t.match(await call(ready, null), {
        status: 401,
        body: { error: { message: "missing credentials" } },
      });
      t.match(await call(ready, "anything"), {
        status: 401,
        body: { error: { message: "authentication failed" } },
      });
      t.equal((await call(ready, null, { path: "/v1/models" })).status, 401);
      t.equal((await call(ready, key.value)).status, 200);
      t.match(await admin(ready, "GET /auth-keys"), {
        status: 403,
        body: { message: /master key/ },
      });
      t.match(
        await admin(ready, "GET /auth-keys", undefined, {
          authorization: `Bearer ${key.value}`,
        }),
        { status: 403 },
      );
    }
    await cli(site, "keys", "deactivate", key.id);
    t.equal(
      (await call(first.ready, null)).status,
      401,
      "no active key is left, and it stays shut",
    );
    await daemon.kill("SIGKILL");
    await site.startDaemon();
    t.equal((await call(second.ready, null)).status, 401, "nor after a crash");
    t.equal(
      (
        await until(
          () => call(second.ready, key.value),
          ({ status }) => status !== 503,
        )
      ).status,
      401,
    );
  },
);

t.test(
  "beyond loopback a gateway without a master key starts once it has a key, and refuses every caller without one",
  async (t) => {
    const site = makeSite(t, "server: { host: 0.0.0.0 }\n");
    const daemon = await site.startDaemon();
    await t.rejects(site.startProxy(), {
      message: /not loopback and no master key is set.*sluice keys issue/,
    });
    const { stdout } = await cli(site, "keys", "issue");
    const proxy = await site.startProxy();
    const url = proxy.ready.replace("0.0.0.0", "127.0.0.1");
    t.equal((await call(url, null)).status, 401);
    t.equal((await call(url, stdout.trim())).status, 200);
    await proxy.kill("SIGTERM");
    t.match(proxy.output(), /"open":false/);
    await daemon.kill("SIGTERM");
  },
);

t.test(
  "without the daemon a key is a 503 in both modes; the master key passes in mode open",
  async (t) => {
    for (const mode of ["closed", "open"]) {
      const site = makeSite(
        t,
        `server: { master_key: ${masterKey} }\nlimiter: { failure_mode: ${mode}, deadline_ms: 100 }\n`,
      );
      const daemon = await site.startDaemon();
      const { ready: url } = await site.startProxy();
      const key = await issue(url, {});
      t.equal((await call(url, key.value)).status, 200);
      await daemon.kill("SIGKILL");
      const answer = await call(url, key.value);
      t.match(answer, { status: 503, body: { error: { code: "limiter_unavailable" } } }, mode);
      t.equal(answer.headers.get("retry-after"), "1");
      t.match(await call(url, key.value, { path: "/v1/models" }), { status: 503 });
      t.match(
        await call(url, makeManagedKey().value),
        { status: 503 },
        "and so is a wrong one: it can't be checked",
      );
      t.equal((await call(url, masterKey)).status, mode === "open" ? 200 : 503);
      t.equal((await call(url, "sk-nothing")).status, 401);
    }
  },
);

t.test(
  "after a session no key, hash or token is in a log line or, in plain, in the store; the log names the key's id",
  async (t) => {
    const site = makeSite(t, limited);
    const daemon = await site.startDaemon();
    const proxy = await site.startProxy();
    const url = proxy.ready;
    const { stdout, stderr } = await cli(
      site,
      "keys",
      "issue",
      "--path",
      "/team/cli",
      "--name",
      "by hand",
      "--label",
      "a",
      "b",
      "--expires",
      "30d",
    );
    const keys = [
      await issue(url, { user_path: "/team", name: "one", labels: ["x"] }),
      { id: "key_1", value: stdout.trim() },
    ];
    t.match(stdout, /^sk-sluice-[\w-]{43}\n$/, "alone on standard output");
    t.match(stderr, /^issued key_1, for \/team\/cli, until \d{4}-.*; it is shown only once:\n$/);
    const unknown = makeManagedKey().value;
    for (const { value, id } of keys) {
      await call(url, value);
      await call(url, value, { body: "{" });
      await call(url, value, { path: "/v1/models" });
      await call(url, value, { path: `/v1/${value}` });
      await admin(url, "GET /auth-keys", undefined, { authorization: `Bearer ${value}` });
      await fetch(`${url}/admin/auth-keys/${value}/deactivate`, {
        method: "POST",
        headers: byMaster,
      });
      for (const named of [id, value])
        t.match(
          JSON.parse(
            (
              await cli(
                site,
                "explain",
                "--key",
                named,
                "--model",
                "simulator/sim-fast",
                "--config",
                site.configFile,
                "--json",
              )
            ).stdout,
          ),
          { key: id, verdict: { admitted: true } },
        );
      t.match(await admin(url, "POST /explain", { key: value, model: "sim-fast" }, byMaster), {
        status: 200,
        body: { key: id },
      });
    }
    await call(url, unknown);
    const byKey = await cli(site, "keys", "deactivate", keys[0]!.value);
    t.equal(byKey.stdout, "deactivated: key_2\n", "a key that was found is enough to end it");
    const table = await cli(site, "keys", "list");
    t.match(
      table.stdout,
      /^ID +NAME +PATH +LABELS +MODELS +KEY +STATUS +EXPIRES +LAST USED +CREATED\nkey_2 +one +\/team +x +\(any\) +sk-sluice-.{4}… +deactivated +never .*\nkey_1 +by hand +\/team\/cli +a, b +\(any\) +sk-sluice-.{4}… +active /,
    );
    t.match(
      JSON.parse((await cli(site, "keys", "list", "--json")).stdout),
      exactly([{ id: "key_2" }, { id: "key_1" }]),
    );
    for (const filter of [
      ["--path", "/team/cli"],
      ["--status", "active"],
      ["--expiring", "31d"],
    ])
      t.match(
        JSON.parse((await cli(site, "keys", "list", ...filter, "--json")).stdout),
        exactly([{ id: "key_1" }]),
        filter.join(" "),
      );
    for (const none of [
      ["--expiring", "29d"],
      ["--unused", "1h"],
    ])
      t.same(JSON.parse((await cli(site, "keys", "list", ...none, "--json")).stdout), []);
    await t.rejects(cli(site, "keys", "deactivate", "key_9"), { code: 3 });
    await proxy.kill("SIGTERM");
    await daemon.kill("SIGTERM");

    const data = readdirSync(join(site.directory, "data"), {
      withFileTypes: true,
      recursive: true,
    });
    const store = data.flatMap((entry) =>
      entry.isFile() ? [readFileSync(join(entry.parentPath, entry.name))] : [],
    );
    const printed = [proxy.output(), daemon.output(), table.stdout, table.stderr, byKey.stdout];
    t.ok(store.length > 0);
    for (const value of [...keys.map((key) => key.value), unknown]) {
      const secret = value.slice("sk-sluice-".length);
      const bytes = Buffer.from(secret, "base64url");
      for (const file of store)
        for (const form of [
          Buffer.from(secret.slice(4, 24)),
          bytes,
          Buffer.from(bytes.toString("hex")),
          Buffer.from(bytes.toString("base64")),
        ])
          t.notOk(file.includes(form), "in the store");
      for (const text of printed)
        for (const form of [
          secret.slice(4, 24),
          bytes.toString("hex"),
          hashKey(value),
          Buffer.from(hashKey(value), "base64url").toString("hex"),
          masterKey,
        ])
          t.notOk(text.includes(form), "in what was printed");
    }
    t.match(proxy.output(), /"user_path":"\/team\/cli","key":"key_1"/);
  },
);
