/** What an address answers, or doesn't, means for a batch and for when it is sent again. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { CursorFile } from "../../../../bin/usage/follow/cursor-file.js";
import { type Batch, type Sink, SinkError } from "../../../../bin/usage/follow/sink.js";
import { httpsSink } from "../../../../bin/usage/sinks/https-sink.js";
import { usageRecord } from "../../../shared/export/usage-records.js";

interface Answering {
  readonly sink: Sink;
  /** The keys of the batches that came. */
  readonly keys: string[];
  answer: (response: ServerResponse) => void;
}

async function answering(t: Test, deadlineMs = 60_000): Promise<Answering> {
  const keys: string[] = [];
  const server = createServer((request, response) => {
    keys.push(String(request.headers["idempotency-key"]));
    request.resume().on("end", () => found.answer(response));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`;
  const cursor = new CursorFile(join(t.testdir(), "cursor"));
  const sink = httpsSink({ url, displayUrl: url, token: null, cursor, deadlineMs });
  t.teardown(async () => {
    await sink.close();
    server.close();
    server.closeAllConnections();
  });
  const found: Answering = { sink, keys, answer: (response) => void response.end() };
  return found;
}

const batch: Batch = {
  after: null,
  next: "s/1.0",
  storeId: "s",
  host: "h",
  records: [usageRecord()],
  missedCommits: 0,
};

t.test("temporary failures, and the address's Retry-After", async (t) => {
  const found = await answering(t);
  await found.sink.open([]);
  const later = { "retry-after": "7" };
  for (const [status, headers, isPassing, retryAfterMs] of [
    [301, { location: "/" }, false, null],
    [400, {}, false, null],
    [401, {}, false, null],
    [404, later, false, 7000],
    [408, {}, true, null],
    [409, {}, true, null],
    [413, {}, false, null],
    [425, {}, true, null],
    [429, later, true, 7000],
    [500, {}, true, null],
    [502, { "retry-after": "Mon, 01 Jan 2035 00:00:00 GMT" }, true, null],
    [503, later, true, 7000],
  ] as const) {
    found.answer = (response) => void response.writeHead(status, headers).end("why");
    const failed = await found.sink.take(batch).catch((error: unknown) => error);
    t.ok(failed instanceof SinkError);
    t.match(failed, { message: new RegExp(`answers ${status}: why`), isPassing, retryAfterMs });
  }
});

t.test(
  "an answer that doesn't come, or doesn't end, is given up; the batch is the same",
  async (t) => {
    const found = await answering(t, 2000);
    await found.sink.open([]);
    for (const answer of [
      (): void => {},
      (response: ServerResponse): void => void response.writeHead(200).write("so"),
      (response: ServerResponse): void => void response.destroy(),
    ]) {
      found.answer = answer;
      await t.rejects(found.sink.take(batch), { name: "SinkError", isPassing: true });
      await found.sink.close();
      t.same(await found.sink.open([]), { cursor: null, repeat: 1 });
    }
    found.answer = (response) => void response.writeHead(204).end();
    t.equal(await found.sink.take(batch), "taken");
    t.equal(new Set(found.keys).size, 1, "by its key a receiver knows that it has it");
    await found.sink.close();
    t.same(await found.sink.open([]), { cursor: "s/1.0", repeat: null });
  },
);
