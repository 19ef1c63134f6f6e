/** `sluice usage follow` against a daemon of made-up records: files, output, addresses, flags. */
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { stoppedFailure } from "../../../../bin/session/command-failure.js";
import { usageRecord } from "../../../shared/export/usage-records.js";
import { run } from "../../command-session.js";
import { startFakeDaemon } from "../../fake-daemon.js";

/** The daemon's answers over as many records as `count` says. */
function recordsOf(
  count: () => number,
  more: object = {},
): (query: Readonly<Record<string, unknown>>) => object {
  return ({ after, from, limit }) => {
    const begin =
      after === null
        ? from === "now"
          ? count()
          : 0
        : Number(String(after).split("/")[1]?.split(".")[0]);
    const end = Math.min(count(), begin + Number(limit));
    return {
      store_id: "s",
      store_ids: ["s"],
      host: "gateway-1",
      records: Array.from({ length: end - begin }, (_, i) =>
        usageRecord({ id: `${begin + i}.0`, request_id: `req_${begin + i}` }),
      ),
      next: `s/${end}.0`,
      more: end < count(),
      lag_seconds: end < count() ? 7 : 0,
      missed_commits: 0,
      is_other_store: false,
      server_time: "2026-02-28T12:00:00.123Z",
      ...more,
    };
  };
}

function directoryOf(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-follow-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The request ids of lines of NDJSON. */
const idsIn = (text: string): string[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { request_id: string }).request_id);
const firstIds = (count: number): string[] => Array.from({ length: count }, (_, i) => `req_${i}`);

t.test("a file holds each record once: after a crash, a rename, and from now on", async (t) => {
  let count = 5;
  const daemon = await startFakeDaemon(t, { followedPage: recordsOf(() => count) });
  const file = join(directoryOf(t), "usage.ndjson");
  const follow = (...flags: string[]): ReturnType<typeof run> =>
    run([
      ...["usage", "follow", "--to", "ndjson", "--output", file, "--once", "--batch", "2"],
      ...["--socket", daemon.socket, ...flags],
    ]);
  const first = await follow();
  t.match(first, { exitCode: 0, out: "", err: "handed on: 5 records, nothing is left" });
  t.same(idsIn(readFileSync(file, "utf8")), firstIds(5));
  t.match(JSON.parse(readFileSync(file, "utf8").split("\n")[0]!), {
    store_id: "s",
    host: "gateway-1",
  });
  // What a crash leaves: lines whose cursor wasn't kept, the last of them torn.
  appendFileSync(file, '{"request_id":"req_5"}\n{"request');
  count = 7;
  t.equal((await follow()).exitCode, 0);
  t.same(idsIn(readFileSync(file, "utf8")), firstIds(7));
  renameSync(file, `${file}.1`);
  count = 8;
  const last = await follow("--json", "--host", "mine");
  t.same(idsIn(readFileSync(file, "utf8")), ["req_7"]);
  t.match(readFileSync(file, "utf8"), /"host":"mine"/);
  t.match(JSON.parse(last.out), { kind: "progress", records: 1, cursor: "s/8.0", lag_seconds: 0 });
  rmSync(`${file}.cursor`);
  count = 9;
  t.equal((await follow("--from-now")).exitCode, 0);
  t.same(idsIn(readFileSync(file, "utf8")), ["req_7"]);
  count = 10;
  t.equal((await follow()).exitCode, 0);
  t.same(idsIn(readFileSync(file, "utf8")), ["req_7", "req_9"]);
  writeFileSync(`${file}.cursor`, "not a cursor");
  t.match(await follow(), { exitCode: 1, err: /isn't the cursor of a follower/ });
});

t.test("standard output starts at the first record; with a cursor it continues", async (t) => {
  let count = 3;
  const daemon = await startFakeDaemon(t, { followedPage: recordsOf(() => count) });
  const cursor = join(directoryOf(t), "cursor");
  const follow = (...flags: string[]): ReturnType<typeof run> =>
    run(["usage", "follow", "--to", "ndjson", "--once", "--socket", daemon.socket, ...flags]);
  t.same(idsIn((await follow()).out), firstIds(3));
  t.same(idsIn((await follow("--cursor", cursor)).out), firstIds(3));
  count = 4;
  t.same(idsIn((await follow("--cursor", cursor)).out), ["req_3"]);
});

interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly ids: readonly string[];
}

/** An address that answers as it is told, and what it was sent. */
async function startCollector(
  t: Test,
  answer: (response: ServerResponse, at: number) => void,
): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      received.push({ headers: request.headers, ids: idsIn(text) });
      answer(response, received.length);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in?q`, received };
}

t.test("a batch whose answer is lost is sent again as it was, with its key", async (t) => {
  let count = 2;
  const daemon = await startFakeDaemon(t, { followedPage: recordsOf(() => count) });
  const { url, received } = await startCollector(t, (response, at) => {
    if (at === 1) return void response.destroy();
    response.writeHead(at === 2 ? 503 : 204, at === 2 ? { "retry-after": "1" } : {}).end();
  });
  const cursor = join(directoryOf(t), "cursor");
  const pauses: number[] = [];
  const { exitCode, err } = await run(
    ["usage", "follow", "--to", url, "--cursor", cursor, "--socket", daemon.socket],
    {
      env: { SLUICE_FOLLOW_SECRET: "token" },
      async pause(ms) {
        pauses.push(ms);
        // More comes while the address is away: not into the batch that is sent again.
        count = 3;
        if (received.length === 4) throw stoppedFailure();
      },
    },
  );
  t.equal(exitCode, 130);
  t.same(
    received.map(({ ids }) => ids),
    [firstIds(2), firstIds(2), firstIds(2), ["req_2"]],
  );
  const keys = received.map(({ headers }) => headers["idempotency-key"]);
  t.same(keys, ["s-0.0-1.0", "s-0.0-1.0", "s-0.0-1.0", "s-2.0-2.0"]);
  t.match(received[0]!.headers, {
    authorization: "Bearer token",
    "content-type": "application/x-ndjson",
  });
  t.ok(pauses[1]! >= 1000, "as long as was asked for");
  t.match(
    err,
    /can't be reached: .*: it is tried again\n.*answers 503: it is tried again\nit goes on after/,
  );
  t.notMatch(err, /\?q/);
  t.match(JSON.parse(readFileSync(cursor, "utf8")), { cursor: "s/3.0", sending: null });
});

t.test("what no waiting repairs ends it, once alone also what would pass", async (t) => {
  const daemon = await startFakeDaemon(t, { followedPage: recordsOf(() => 1) });
  const statuses = [401, 413, 503];
  const { url } = await startCollector(t, (response, at) => {
    response.writeHead(statuses[at - 1] ?? 204).end("why");
  });
  const cursor = join(directoryOf(t), "cursor");
  const follow = (...flags: string[]): ReturnType<typeof run> =>
    run(["usage", "follow", "--to", url, "--cursor", cursor, "--socket", daemon.socket, ...flags]);
  t.match(await follow(), { exitCode: 1, err: /answers 401: why: give a valid token/ });
  t.match(await follow(), { exitCode: 1, err: /--batch/ });
  t.match(await follow("--once"), { exitCode: 1, err: /answers 503/ });
  t.match(await follow("--once"), { exitCode: 0 });
  const away = ["usage", "follow", "--to", "ndjson", "--once", "--socket", "/nowhere/sluice.sock"];
  t.equal((await run(away)).exitCode, 69);
});

t.test("missing records and another store are said, and it goes on", async (t) => {
  const more = { missed_commits: 3, is_other_store: true };
  const daemon = await startFakeDaemon(t, { followedPage: recordsOf(() => 1, more) });
  const { exitCode, err } = await run([
    "usage",
    "follow",
    "--to",
    "ndjson",
    "--once",
    "--socket",
    daemon.socket,
  ]);
  t.equal(exitCode, 0);
  t.match(err, /of another store[^]*of 3 commits, at least one each[^]*handed on: 1 record,/);
});

t.test("wrong flags are all said, before anything is done", async (t) => {
  const directory = directoryOf(t);
  const table = [
    [["--to", "mysql://x"], /--to must be/],
    [[], /--to is required/],
    [["--to", "https://a/b"], /--cursor is required/],
    [["--to", "postgres://h/d", "--cursor", "x"], /isn't for PostgreSQL/],
    [["--to", "ndjson", "--create-table"], /--create-table is for PostgreSQL/],
    [["--to", "ndjson", "--batch", "1001"], /--batch must be/],
    [["--to", "ndjson", "--name", "a b"], /--name must have/],
    [["--to", "ndjson", "--path", "/a", "--days", "3"], /--path is for[^]*--days is for/],
    [
      ["--to", "ndjson", "--secret-file", join(directory, "none")],
      /--secret-file .* can't be read/,
    ],
  ] as const;
  for (const [flags, message] of table)
    t.match(
      await run(["usage", "follow", ...flags]),
      { exitCode: 2, err: message },
      flags.join(" "),
    );
  t.notOk(existsSync(join(directory, "none")));
});

t.test("one follower at a time has a cursor's file", async (t) => {
  const daemon = await startFakeDaemon(t, { followedPage: recordsOf(() => 1) });
  const file = join(directoryOf(t), "usage.ndjson");
  const flags = ["usage", "follow", "--to", "ndjson", "--output", file, "--socket", daemon.socket];
  let second: Awaited<ReturnType<typeof run>> | null = null;
  const first = await run(flags, {
    async pause() {
      second = await run([...flags, "--once"]);
      throw stoppedFailure();
    },
  });
  t.equal(first.exitCode, 130);
  t.match(second, { exitCode: 1, err: /another follower has the cursor/ });
});
