import t from "tap";
import { FieldFinder } from "../../../proxy/body/multipart.js";
import { MemoryLedger, MemoryShare } from "../../../proxy/capacity/memory-ledger.js";
import type { ModelCall, ReadCall } from "../../../proxy/handlers/model-call.js";
import { readMultipartCall } from "../../../proxy/handlers/multipart-call.js";
import { type Spool, SpoolFailed, UploadRefused } from "../../../proxy/http/body-spool.js";
import { heldUploadBytesMax } from "../../../shared/bounds.js";
import type { Config } from "../../../shared/config/config.js";
import { providerConfig } from "../../support/provider-config.js";
import { FakeExchange } from "../fake-exchange.js";
import { bytesOf, callContext } from "../fake-gateway.js";

const provider = providerConfig({ name: "one" });
const field = (name: string, value: string): string =>
  `--B\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (bytes: number): string =>
  `--B\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n${"x".repeat(bytes)}\r\n`;
const end = "--B--\r\n";

/** A spool in memory that records what is done with it. */
class FakeSpool implements Spool {
  readonly pieces: Buffer[] = [];
  closed = 0;

  write(chunk: Buffer): Promise<void> {
    this.pieces.push(chunk);
    return Promise.resolve();
  }

  async *read(): AsyncGenerator<Buffer> {
    yield* this.pieces;
  }

  close(): void {
    this.closed++;
  }
}

interface Reading {
  readonly result: ReadCall;
  readonly spools: FakeSpool[];
  /** How many pieces of the form have been read so far. */
  readonly taken: () => number;
}

/** A form in pieces of 64 KiB, as sockets bring them. */
async function read(
  form: string,
  {
    contentType = "multipart/form-data; boundary=B",
    length,
    uploadBytesMax = 10_000_000,
    gone = false,
    memoryMax = 1e9,
    modelInPath = null,
    defaultModels = [],
  }: {
    contentType?: string;
    length?: number;
    uploadBytesMax?: number;
    gone?: boolean;
    memoryMax?: number;
    modelInPath?: string | null;
    defaultModels?: Config["server"]["defaultModels"];
  } = {},
): Promise<Reading> {
  const bytes = Buffer.from(form);
  const headers = [
    "content-type",
    contentType,
    ...(length === undefined ? [] : ["content-length", String(length)]),
  ];
  const exchange = new FakeExchange({ headers });
  exchange.gone = gone;
  exchange.modelInPath = modelInPath;
  const ledger = new MemoryLedger(memoryMax);
  // Of another request: this one isn't alone.
  ledger.take(1);
  exchange.memory = new MemoryShare(ledger);
  let taken = 0;
  for (let at = 0; at < bytes.length; at += 65_536)
    exchange.sentPieces.push(bytes.subarray(at, at + 65_536));
  const pieces = exchange.sentPieces;
  exchange.sentPieces = new Proxy(pieces, {
    get(target, key): unknown {
      if (typeof key === "string" && /^\d+$/.test(key)) taken++;
      return Reflect.get(target, key);
    },
  });
  const spools: FakeSpool[] = [];
  const newSpool = (): Promise<Spool> => {
    spools.push(new FakeSpool());
    return Promise.resolve(spools.at(-1)!);
  };
  const context = callContext(exchange, { uploadBytesMax, defaultModels, newSpool });
  const result = await readMultipartCall("transcriptions", context);
  return { result, spools, taken: () => taken };
}

function callOf({ result }: Reading): ModelCall {
  if (!result.ok) throw new Error(result.failure?.message ?? "gone");
  return result.call;
}

/** What is sent to a provider under another model's name, and the declared length. */
async function sentAs(
  call: ModelCall,
  model: string,
): Promise<{ readonly text: string; readonly bytes: number | null }> {
  const { body } = call.requestTo(provider, model);
  if (body === null || Buffer.isBuffer(body)) throw new Error("a form passes in pieces");
  return { text: (await bytesOf(body)).toString(), bytes: body.bytes };
}

t.test(
  "a small form is held in memory, can be sent as often as needed, and only its model is changed",
  async (t) => {
    const form = `${file(1000)}${field("model", "whisper")}${field("language", "uk")}${end}`;
    const reading = await read(form, { length: form.length });
    const call = callOf(reading);
    t.match(call, {
      operation: "transcriptions",
      model: "whisper",
      promptBytes: 0,
      isRepeatable: true,
    });
    for (const model of ["whisper", "w", "größer-3"]) {
      const expected = form.replace("whisper", model);
      t.same(
        await sentAs(call, model),
        { text: expected, bytes: Buffer.byteLength(expected) },
        model,
      );
    }
    t.same(reading.spools, []);
  },
);

t.test("without memory a form waits on disk, and is sent from there", async (t) => {
  const form = `${field("model", "whisper")}${file(200_000)}${end}`;
  const reading = await read(form, { memoryMax: 100_000 });
  const call = callOf(reading);
  t.equal(reading.spools.length, 1);
  t.equal(call.isRepeatable, true);
  t.same(await sentAs(call, "other"), { text: form.replace("whisper", "other"), bytes: null });
});

t.test(
  "a large form whose model comes first is read ahead up to the memory bound, and can be sent once",
  async (t) => {
    const form = `${field("model", "whisper")}${file(2_000_000)}${end}`;
    const reading = await read(form);
    const call = callOf(reading);
    t.equal(call.isRepeatable, false);
    t.equal(reading.taken(), heldUploadBytesMax / 65_536, "the rest is still to come");
    t.same(await sentAs(call, "other"), { text: form.replace("whisper", "other"), bytes: null });
    t.same(reading.spools, []);
  },
);

t.test(
  "a large form whose model comes last is held on disk, can be sent again, and is removed from the disk when it is closed",
  async (t) => {
    const form = `${file(2_000_000)}${field("model", "whisper")}${end}`;
    const reading = await read(form, { length: form.length });
    const call = callOf(reading);
    t.equal(call.isRepeatable, true);
    const { spools } = reading;
    t.same(
      spools.map(({ pieces }) => Buffer.concat(pieces).length),
      [form.length - heldUploadBytesMax],
    );
    for (const model of ["other", "whisper"])
      t.same(await sentAs(call, model), {
        text: form.replace("whisper", model),
        bytes: form.length + model.length - 7,
      });
    t.equal(spools[0]!.closed, 0);
    call.close();
    t.equal(spools[0]!.closed, 1);
  },
);

t.test(
  "a body that is no form with a model is refused with the reason, and leaves nothing on disk",
  async (t) => {
    const table = [
      {
        what: "no form",
        form: "{}",
        contentType: "application/json",
        message: /^the body must be a multipart form/,
        param: "body",
      },
      {
        what: "no boundary",
        form: end,
        contentType: "multipart/form-data",
        message: /^the body must be a multipart form/,
        param: "body",
      },
      { what: "nothing", form: "", message: /ends within a part$/, param: "body" },
      {
        what: "no end",
        form: `${field("model", "whisper")}${file(10)}`,
        message: /ends within a part$/,
        param: "body",
      },
      {
        what: "no end, on disk",
        form: file(500_000),
        message: /ends within a part$/,
        param: "body",
        spooled: true,
      },
      {
        what: "no model",
        form: `${file(10)}${end}`,
        message: /^model is required$/,
        param: "model",
      },
      {
        what: "no model, on disk",
        form: `${file(500_000)}${end}`,
        message: /^model is required$/,
        param: "model",
        spooled: true,
      },
      {
        what: "a blank model",
        form: `${field("model", " ")}${end}`,
        message: /^model must not be empty$/,
        param: "model",
      },
      {
        what: "two models",
        form: `${field("model", "a")}${field("model", "b")}${end}`,
        message: /^model is given more than once$/,
        param: "model",
      },
      {
        what: "a long model",
        form: `${field("model", "m".repeat(513))}${end}`,
        message: /^model must be at most 512 bytes$/,
        param: "model",
      },
      {
        what: "an endless model",
        form: `${field("model", "m".repeat(5000))}${end}`,
        message: /^the body is not a readable form: model must be at most/,
        param: "body",
      },
    ];
    for (const { what, form, contentType, message, param, spooled = false } of table) {
      const { result, spools } = await read(form, contentType === undefined ? {} : { contentType });
      t.match(result, { ok: false, failure: { status: 400, message, param } }, what);
      t.same(
        spools.map(({ closed }) => closed),
        spooled ? [1] : [],
        what,
      );
    }
  },
);

t.test(
  "a large form with a second model after what was read ahead is refused before that one is sent",
  async (t) => {
    const last = `${field("model", "dear")}${end}`;
    const boundless = `--B\r\nx: ${"y".repeat(20_000)}`;
    for (const [rest, message] of [
      [last, "model is given more than once"],
      [
        `${boundless}\r\n\r\n\r\n${last}`,
        "the body is not a readable form: the headers of a part are larger than 16384 bytes",
      ],
    ] as const) {
      const call = callOf(await read(`${field("model", "cheap")}${file(2_000_000)}${rest}`));
      await t.rejects(sentAs(call, "cheap"), new UploadRefused(message));
    }
  },
);

t.test(
  "a form that turns out too large while it is read is a 413; a client that leaves meanwhile is gone",
  async (t) => {
    const large = await read(file(500_000), { uploadBytesMax: 400_000 });
    t.match(large.result, {
      ok: false,
      failure: {
        status: 413,
        code: "request_too_large",
        message: "the body is larger than 400000 bytes",
      },
    });
    t.same(
      large.spools.map(({ closed }) => closed),
      [1],
    );
    const left = await read(file(500_000), { gone: true });
    t.same(left.result, { ok: false, failure: null });
    t.same(
      left.spools.map(({ closed }) => closed),
      [1],
    );
  },
);

t.test("a failing disk is a 503, not an error of the client", async (t) => {
  const exchange = new FakeExchange({
    headers: ["content-type", "multipart/form-data; boundary=B"],
  });
  exchange.sentPieces = [Buffer.from(file(500_000))];
  const newSpool = (): Promise<Spool> =>
    Promise.reject(new SpoolFailed("the upload can't be kept on disk (ENOSPC)"));
  const settings = { uploadBytesMax: 10_000_000 };
  t.match(
    await readMultipartCall("transcriptions", callContext(exchange, { ...settings, newSpool })),
    {
      ok: false,
      failure: {
        status: 503,
        type: "internal_error",
        message: "the upload can't be kept on disk (ENOSPC)",
      },
    },
  );
  const broken = (): Promise<Spool> => Promise.reject(new TypeError("ours"));
  await t.rejects(
    readMultipartCall("transcriptions", callContext(exchange, { ...settings, newSpool: broken })),
    TypeError,
    "a mistake of our own isn't hidden",
  );
});

t.test("a provider that doesn't transcribe is refused", async (t) => {
  const call = callOf(await read(`${field("model", "whisper")}${end}`));
  t.equal(call.problemAt(provider, "m"), null);
  t.match(
    call.problemAt(
      providerConfig({ name: "chatty", operations: new Set(["chat_completions"]) }),
      "m",
    ),
    { status: 400, message: "provider chatty does not offer transcriptions", param: "model" },
  );
});

t.test("a form without a model gets the operation's default", async (t) => {
  const defaultModels = [{ operation: "transcriptions", model: "whisper-1" }] as const;
  const call = callOf(await read(`${file(5)}${end}`, { defaultModels }));
  t.equal(call.model, "whisper-1");
  t.match((await sentAs(call, "whisper-1")).text, /name="model"\r\n\r\nwhisper-1\r\n/);
  const named = callOf(await read(`${field("model", "own")}${file(5)}${end}`, { defaultModels }));
  t.equal(named.model, "own");
});

t.test("the model of Azure's path counts, and the form gets the target's", async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["another one", `${field("model", "whisper-1")}${file(5)}${end}`, "whisper-1"],
    ["none", `${file(5)}${end}`, ""],
    ["none, after a line end", `\r\n${file(5)}${end}`, ""],
    ["an empty one", `${field("model", "")}${file(5)}${end}`, ""],
  ];
  for (const [name, form] of cases) {
    const options = { length: form.length, modelInPath: "my-whisper" };
    const call = callOf(await read(form, options));
    t.equal(call.model, "my-whisper", name);
    const { text, bytes } = await sentAs(call, "gpt-4o-transcribe");
    t.equal(bytes, text.length, name);
    const finder = new FieldFinder("B", "model");
    finder.push(Buffer.from(text));
    t.match(finder, { problem: null, isRepeated: false, ended: true }, name);
    t.equal(finder.place?.value, "gpt-4o-transcribe", name);
    t.ok(text.endsWith(`${file(5)}${end}`), name);
  }
  const twice = `${field("model", "a")}${field("model", "b")}${end}`;
  const { result } = await read(twice, { modelInPath: "c" });
  t.match(result, { ok: false, failure: { message: "model is given more than once" } });
  const { result: blank } = await read(`${file(5)}${end}`, { modelInPath: " " });
  t.match(blank, { ok: false, failure: { message: "model must not be empty" } });
});
