import { isUtf8 } from "node:buffer";
import t from "tap";
import { parseBatchRequests, requestsPerBatchMax } from "../../../proxy/objects/batch-requests.js";
import type { ParsedObjectBody } from "../../../proxy/objects/object-body.js";
import { invalid } from "../../../shared/error-code.js";

/** What is read of a body, and in how many turns of the event loop. */
async function read(
  body: string,
): Promise<{ readonly parsed: ParsedObjectBody; readonly turns: number }> {
  let turns = 1;
  const parsed = await parseBatchRequests(Buffer.from(body), isUtf8, {
    nextTurn() {
      turns++;
      return Promise.resolve();
    },
    modelProblem: (model, param) =>
      model.startsWith("gateway/") ? invalid(`${param} is wrong`, param) : null,
  });
  return { parsed, turns };
}

const request = '{"custom_id":"1","params":{"model":"m","messages":[{"role":"user"}]}}';
const ofGateway = '{"params":{"model":"gateway/m"}}';

t.test(
  "what the requests of a batch name is found, and the rest of the body is read",
  async (t) => {
    const table: readonly (readonly [body: string, fields: object, ids: readonly string[]])[] = [
      ['{"requests":[]}', { requests: [] }, []],
      [' { "requests" : [ ] , "x": 1 }', { requests: [], x: 1 }, []],
      [`{"requests":[${request},${request}]}`, { requests: [] }, []],
      [
        '{"requests":[{"container":"a"},{"b":[{"file_id":"b"}]}],"file_id":"c"}',
        {},
        ["a", "b", "c"],
      ],
      ['{"requests":[1,"],[",[2]]}', { requests: [] }, []],
      ['{"x":[],"requests":[{"file_id":"a"}]}', { requests: [{ file_id: "a" }] }, ["a"]],
    ];
    for (const [body, fields, ids] of table) {
      const { parsed } = await read(body);
      t.match(parsed, { ok: true, fields }, body);
      t.same(parsed.ok && [...parsed.named!.keys()].toSorted(), ids, body);
    }
  },
);

t.test("a body that isn't JSON, or that may be read in two ways, is refused", async (t) => {
  const table: readonly (readonly [body: string, message: string])[] = [
    ['{"requests":[', "it is not valid JSON"],
    ['{"requests":[{}', "it is not valid JSON"],
    ['{"requests":[{},]}', "it is not valid JSON"],
    ['{"requests":[,{}]}', "it is not valid JSON"],
    ['{"requests":[{}}', "it is not valid JSON"],
    ['{"requests":[{}]', "it is not valid JSON"],
    ['{"requests":[{"a":1]}]}', "it is not valid JSON"],
    ['{"requests":["]}', "it is not valid JSON"],
    ['{"requests":[{} {}]}', "it is not valid JSON"],
    ['{"requests":[{"file_id":"a","file_id":"b"}]}', "file_id is given more than once"],
    ['{"requests":[{"File_Id":"a"}]}', "the field is called file_id"],
    ['{"requests":[],"file_id":" a"}', "must not have white space around it"],
    [`{"requests":[${request},${ofGateway}]}`, "requests[1].params.model is wrong"],
    [`{"x":1,"requests":[7,${request},${ofGateway}]}`, "requests[2].params.model is wrong"],
  ];
  for (const [body, message] of table) {
    const { parsed } = await read(body);
    t.match(parsed, { ok: false, failure: { status: 400 } }, body);
    t.match(!parsed.ok && parsed.failure.message, message, body);
  }
});

t.test(
  "100,000 requests are taken, other work is done between them, more have a bound",
  async (t) => {
    const of = (count: number, item: string): string =>
      `{"requests":[${Array.from({ length: count }, () => item).join()}]}`;
    const { parsed, turns } = await read(of(100_000, request));
    t.match(parsed, { ok: true });
    t.ok(turns >= 100, `${turns} turns`);
    t.match((await read(of(requestsPerBatchMax + 1, "0"))).parsed, {
      failure: { param: "requests", message: "requests must have at most 200000 items" },
    });
    const names = Array.from({ length: 1001 }, (_, at) => `{"file_id":"f${at}"}`).join();
    t.match((await read(`{"requests":[${names}]}`)).parsed, { ok: true, named: null });
  },
);
