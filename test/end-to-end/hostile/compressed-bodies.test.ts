/**
 * Compressed bodies that mean harm, on a real proxy: who is over a limit gets nothing decoded, and
 * what anybody else sends decodes to little more than it is. The measure is CPU time, which a busy
 * machine doesn't change.
 */
import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";

const masterKey = "the-master-key-of-this-test";
const site = makeSite(
  t,
  `
server: { master_key: ${masterKey} }
providers: { sim: { type: simulator }, batch: { type: openai, base_url: "http://127.0.0.1:9/v1", api_key: k, models: [none] } }
rate_limits:
  user_paths:
    - { path: /spent, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
    - { path: /fresh, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000000 }] }
`,
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;
const byMaster = { authorization: `Bearer ${masterKey}` };

async function keyOf(path: string): Promise<string> {
  const { body } = await admin(url, "POST /auth-keys", { name: path, user_path: path }, byMaster);
  return String(body["value"]);
}
const keys = { spent: await keyOf("/spent"), fresh: await keyOf("/fresh") };

interface Sending {
  readonly key: string;
  readonly body: Buffer;
  readonly coding?: string;
  readonly path?: string;
}

async function send({ key, body, coding, path = "/v1/chat/completions" }: Sending) {
  const response = await fetch(url + path, {
    method: path.startsWith("/admin/rate-limits") ? "PUT" : "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(coding === undefined ? {} : { "content-encoding": coding }),
    },
    body,
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** CPU time of the proxy so far, in ms: of its event loop's thread, and of all. */
function cpu(): { readonly loop: number; readonly all: number } {
  const directory = `/proc/${proxy.child.pid}/task`;
  const msOf = (task: string): number =>
    Number(readFileSync(`${directory}/${task}/schedstat`, "latin1").split(" ")[0]) / 1e6;
  const tasks = readdirSync(directory);
  return {
    loop: msOf(String(proxy.child.pid)),
    all: tasks.reduce((sum, task) => sum + msOf(task), 0),
  };
}

/** What one of such requests takes. */
async function cpuOf(count: number, sending: Sending, status: number) {
  const before = cpu();
  for (let i = 0; i < count; i++) {
    const answer = await send(sending);
    if (answer.status !== status) throw new Error(`${answer.status}: ${answer.text}`);
  }
  const after = cpu();
  return { loop: (after.loop - before.loop) / count, all: (after.all - before.all) / count };
}

const chat = Buffer.from('{"model":"sim/m","messages":[{"role":"user","content":"hi"}]}');
const blanks = Buffer.alloc(30_000_000, " ");
const halves = [blanks.subarray(0, 15_000_000), blanks.subarray(15_000_000)];
/** Grows at its end. */
const late = Buffer.concat([chat.subarray(0, -1), blanks, Buffer.from("}")]);
const bombs: readonly (readonly [coding: string, body: Buffer])[] = [
  ["br", brotliCompressSync(blanks)],
  ["br", brotliCompressSync(late)],
  ["gzip", gzipSync(blanks)],
  ["gzip", gzipSync(late)],
  ["gzip", Buffer.concat(halves.map((half) => gzipSync(half)))],
  ["deflate", deflateSync(blanks)],
  ["deflate", deflateRawSync(blanks)],
];

t.test("who is over a limit has nothing decoded, for the price of a plain refusal", async (t) => {
  t.equal((await send({ key: keys.spent, body: chat })).status, 200);
  const refused = { key: keys.spent, body: chat };
  // Until its code is compiled, a proxy takes longer for each.
  await cpuOf(150, refused, 429);
  const plain = await cpuOf(150, refused, 429);
  t.comment(`a plain 429: ${plain.all.toFixed(2)} ms`);
  for (const [coding, body] of bombs) {
    const { all } = await cpuOf(15, { key: keys.spent, body, coding }, 429);
    const times = all / plain.all;
    t.ok(times < 8, `${coding}, ${body.length} bytes: ${times.toFixed(1)} times a plain 429`);
  }
  const batch = { key: keys.spent, body: bombs[0]![1], coding: "br", path: "/v1/batches" };
  const { all } = await cpuOf(15, batch, 429);
  t.ok(all / plain.all < 8, `a batch: ${(all / plain.all).toFixed(1)} times a plain 429`);
});

t.test(
  "a bomb of who is under the limit is cut off, on every endpoint that reads JSON",
  async (t) => {
    const paths = [
      "/v1/chat/completions",
      "/v1/responses",
      "/v1/messages",
      "/v1/embeddings",
      "/v1/responses/compact",
      "/v1/messages/count_tokens",
      "/v1/responses/input_tokens",
      "/v1/batches",
      "/v1/conversations",
      "/v1beta/models/m:generateContent",
      "/v1beta/models/m:countTokens",
      "/openai/deployments/m/chat/completions",
      "/admin/rate-limits",
      "/admin/limits",
    ];
    for (const [i, path] of paths.entries()) {
      const key = path.startsWith("/admin") ? masterKey : keys.fresh;
      for (const [coding, body] of [bombs[i % bombs.length]!, bombs[(i + 3) % bombs.length]!]) {
        const answer = await send({ key, body, coding, path });
        t.equal(answer.status, 413, `${path}, ${coding}: ${answer.text.slice(0, 200)}`);
      }
    }
    const { loop } = await cpuOf(15, { key: keys.fresh, body: bombs[0]![1], coding: "br" }, 413);
    t.ok(loop < 20, `each holds the event loop for ${loop.toFixed(1)} ms in all`);
  },
);

t.test("what is decoded is what was compressed, and nothing else", async (t) => {
  const fresh = (body: Buffer, coding: string) => send({ key: keys.fresh, body, coding });
  const chatty = Buffer.from(
    `{"model":"sim/m","messages":[{"role":"user","content":"${"hi ".repeat(3e5)}"}]}`,
  );
  t.ok(brotliCompressSync(chatty).length * 100 < chatty.length, "small, and not large");
  for (const body of [chat, chatty]) {
    const table: readonly (readonly [coding: string, body: Buffer, status: number])[] = [
      ["gzip", gzipSync(body), 200],
      ["identity", body, 200],
      ["identity, gzip", gzipSync(body), 200],
      ["gzip", Buffer.concat([gzipSync(body.subarray(0, 9)), gzipSync(body.subarray(9))]), 200],
      ["deflate", deflateSync(body), 200],
      ["deflate", deflateRawSync(body), 200],
      ["br", brotliCompressSync(body), 200],
      ["gzip", Buffer.concat([gzipSync(body), Buffer.from("rest")]), 400],
      ["deflate", Buffer.concat([deflateSync(body), Buffer.from("rest")]), 400],
      ["br", Buffer.concat([brotliCompressSync(body), Buffer.from("rest")]), 400],
      ["gzip", gzipSync(body).subarray(0, -9), 400],
      ["deflate", deflateSync(body).subarray(0, -9), 400],
      ["br", brotliCompressSync(body).subarray(0, -9), 400],
      ["br", gzipSync(body), 400],
      ["gzip, br", brotliCompressSync(gzipSync(body)), 415],
      ["compress", body, 415],
    ];
    for (const [coding, bytes, status] of table) {
      const answer = await fresh(bytes, coding);
      t.equal(answer.status, status, `${coding}: ${answer.text.slice(0, 200)}`);
    }
  }
});

t.test(
  "a spent budget and a wrong key aren't evaded, and nothing is held afterwards",
  async (t) => {
    const [coding, body] = bombs[0]!;
    t.equal((await send({ key: "wrong", body, coding })).status, 401);
    const { requests_used: used } = await ruleNow(url, "/spent", agesSeconds, byMaster);
    t.equal(used, 1, "no refusal was counted");
    const health = async () =>
      (await (await fetch(`${url}/health`, { headers: byMaster })).json()) as {
        readonly capacity: { readonly held_bytes: number };
      };
    const { capacity } = await until(health, ({ capacity }) => capacity.held_bytes === 0);
    t.equal(capacity.held_bytes, 0);
  },
);
