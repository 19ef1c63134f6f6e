import { isUtf8 } from "node:buffer";
import t from "tap";
import { MemoryLedger, MemoryShare } from "../../../proxy/capacity/memory-ledger.js";
import { limiterUnavailable } from "../../../proxy/limiter/daemon-calls.js";
import {
  linesPerFileMax,
  namesPerFileMax,
  problemInLines,
} from "../../../proxy/objects/batch-input.js";
import type { Failure } from "../../../shared/error-code.js";

interface Sample {
  readonly fileBytesMax?: number;
  readonly lineBytesMax?: number;
  readonly ledger?: MemoryLedger;
  /** The daemon doesn't answer. */
  readonly isAway?: boolean;
}

/** What is said of a file, of which `theirs` belongs to others, and how often who was asked for. */
async function checked(
  pieces: Iterable<Buffer>,
  { fileBytesMax = 1e9, lineBytesMax = 1e9, ledger = new MemoryLedger(1e9), isAway }: Sample = {},
): Promise<{ readonly problem: Failure | null; readonly asked: readonly (readonly string[])[] }> {
  const asked: (readonly string[])[] = [];
  const problem = await problemInLines({
    fileId: "file-1",
    pieces: (async function* () {
      yield* pieces;
    })(),
    fileBytesMax,
    lineBytesMax,
    memory: new MemoryShare(ledger),
    isUtf8,
    firstForeign(ids) {
      asked.push(ids);
      if (isAway === true) return Promise.resolve({ ok: false, failure: limiterUnavailable() });
      return Promise.resolve({ ok: true, id: ids.find((id) => id.startsWith("theirs")) ?? null });
    },
  });
  return { problem, asked };
}

const problemOf = async (text: string | Buffer): Promise<Failure | null> =>
  (await checked([Buffer.from(text)])).problem;

/** A request of a batch. */
const line = (body: object): string =>
  JSON.stringify({ custom_id: "1", method: "POST", url: "/v1/responses", body });

t.test(
  "a line that names what another path has made is refused: the message says which line, what, and the field",
  async (t) => {
    const table: readonly (readonly [body: object, field: string])[] = [
      [{ previous_response_id: "theirs" }, "previous_response_id"],
      [{ conversation: { id: "theirs" } }, "conversation"],
      [{ input: [{ content: [{ type: "input_file", file_id: "theirs" }] }] }, "file_id"],
      [{ tools: [{ container: { type: "auto", file_ids: ["a", "theirs"] } }] }, "file_ids"],
      [{ tools: [{ container: "theirs" }] }, "container"],
      [{ messages: [{ content: [{ type: "file", file: { file_id: "theirs" } }] }] }, "file_id"],
    ];
    for (const [body, field] of table)
      t.match(await problemOf(`${line({ model: "x" })}\r\n\n${line(body)}\n${line({})}`), {
        status: 404,
        type: "not_found_error",
        message: `line 3 of file-1: there is no theirs of this user path (${field})`,
        param: "input_file_id",
      });
    t.equal(await problemOf([line({ file_id: "mine" }), line({ input: "hi" })].join("\n")), null);
    t.match(await problemOf(`${line({})}\n${line({})}\n{"file\\u005fid":"theirs"}`), {
      message: /^line 3 /,
    });
  },
);

t.test("a file is read alike wherever its pieces are cut", async (t) => {
  const text = Buffer.from(
    `\ufeff${line({ input: "é€😀" })}\r\n   \n${line({ file_id: "mine" })}\n${line({ conversation: "theirs" })}`,
  );
  for (let at = 0; at <= text.length; at++) {
    const { problem } = await checked([text.subarray(0, at), text.subarray(at)]);
    t.match(problem, { message: /^line 4 of file-1: there is no theirs / });
  }
  const bytes = [...text].map((byte) => Buffer.from([byte]));
  t.match((await checked(bytes)).problem, { message: /^line 4 / });
});

t.test(
  "a line that servers might read in two ways, or that can't be read, is refused",
  async (t) => {
    const named = '{"file_id":"theirs"}';
    const table: readonly (readonly [second: string | Buffer, message: string])[] = [
      ["{", "it must be a JSON object: it is not valid JSON"],
      [`{}${named}`, "it must be a JSON object: it is not valid JSON"],
      [Buffer.from(named, "utf16le"), "it must be a JSON object: it is not valid JSON"],
      [Buffer.from([0x22, 0xff, 0x22]), "it must be a JSON object: it is not valid UTF-8"],
      [`[${named}]`, "it must be a JSON object, not an array"],
      ['"text"', "it must be a JSON object, not a string"],
      ['{"file_id":"a","file_id":"b"}', "file_id is given more than once (file_id)"],
      [
        '{"file_id":"a","f\\u0069le_id":"b","input":"x"}',
        "file_id is given more than once (file_id)",
      ],
      [
        line({ file_ids: Array.from({ length: 1001 }, (_, i) => `f${i}`) }),
        "it names more than 1000 stored objects",
      ],
    ];
    for (const [second, message] of table)
      t.match(await problemOf(Buffer.concat([Buffer.from("{}\n"), Buffer.from(second)])), {
        status: 400,
        type: "invalid_request_error",
        message: `line 2 of file-1: ${message}`,
        param: "input_file_id",
      });
  },
);

t.test(
  "the daemon is asked for hundreds of names together, and not at all if there are none",
  async (t) => {
    const naming = (from: number, count: number): string[] =>
      Array.from({ length: count }, (_, i) => line({ file_id: `f${from + i}` }));
    const groups = async (lines: readonly string[]) =>
      (await checked([Buffer.from(lines.join("\n"))])).asked.map(({ length }) => length);
    t.same(await groups(naming(0, 250)), [100, 100, 50]);
    t.same(await groups([...naming(0, 90), ...naming(0, 90), ...naming(0, 90)]), [90]);
    t.same(await groups([line({ input: "file_id" }), ""]), []);
    t.same(await groups([]), []);
    t.match((await checked([Buffer.from(line({ file_id: "f" }))], { isAway: true })).problem, {
      code: "limiter_unavailable",
    });
  },
);

t.test("a file, its lines, its names and the memory for them have bounds", async (t) => {
  const text = Buffer.from(`${line({ input: "x".repeat(100) })}\n`);
  const files = [text, text, text];
  t.equal((await checked(files, { lineBytesMax: text.length })).problem, null);
  t.match((await checked(files, { fileBytesMax: text.length * 2 })).problem, {
    status: 413,
    message: `file-1 is larger than ${text.length * 2} bytes`,
  });
  const cut = [text, text.subarray(0, 90), text.subarray(90)];
  t.match((await checked(cut, { lineBytesMax: 80 })).problem, {
    status: 413,
    code: "request_too_large",
    message: "line 2 of file-1 is larger than 80 bytes",
  });
  const ledger = new MemoryLedger(1e6);
  ledger.take(1e6 - 100);
  t.match((await checked(files, { ledger })).problem, { code: "overloaded" });
  const roomy = new MemoryLedger(1e6);
  await checked([...cut, ...cut], { ledger: roomy });
  t.equal(roomy.held, 0, "and is given back");
  const many = Buffer.from(
    `${line({ file_ids: Array.from({ length: 1000 }, (_, i) => `f${i}`) })}\n`,
  );
  const tooMany = Array.from({ length: namesPerFileMax / 1000 + 1 }, () => many);
  t.match((await checked(tooMany)).problem, {
    message: `line 201 of file-1: the file names more than ${namesPerFileMax} objects`,
  });
  t.equal(await problemOf("\n".repeat(linesPerFileMax)), null);
  t.match(await problemOf(`${"\n".repeat(linesPerFileMax)}{}`), {
    status: 400,
    message: `line ${linesPerFileMax + 1} of file-1: the file has more than ${linesPerFileMax} lines`,
  });
});
