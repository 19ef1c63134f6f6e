import t from "tap";
import { formWithoutIds } from "../../../../proxy/handlers/objects/send-object-request.js";
import { UploadRefused } from "../../../../proxy/http/body-spool.js";
import { exactly } from "../../../support/patterns/exactly.js";

const part = (name: string, value: string, file = ""): string =>
  `--B\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
const aFile = part("file", "file_id=file-2", '; filename="a.txt"');

/** What is passed on of a form in pieces of so many bytes, and why no more is. */
async function passed(form: string, bytes: number): Promise<[sent: string, why: string | null]> {
  async function* pieces(): AsyncIterable<Buffer> {
    for (let at = 0; at < form.length; at += bytes)
      yield Buffer.from(form.slice(at, at + bytes), "latin1");
  }
  let sent = "";
  try {
    for await (const piece of formWithoutIds(pieces(), "B")) sent += piece.toString("latin1");
    return [sent, null];
  } catch (error) {
    if (!(error instanceof UploadRefused)) throw error;
    return [sent, error.message];
  }
}

t.test("a form that names nothing passes as it is, however it is cut", async (t) => {
  const whole = `${aFile}${part("note", "about file_id")}--B--\r\n`;
  for (let bytes = 1; bytes <= whole.length; bytes++)
    t.same(await passed(whole, bytes), [whole, null]);
});

t.test("one that names a file ends before the name does", async (t) => {
  const named = part("file_id", "file-1");
  const why = "file_id can't be taken from a form: send it as JSON";
  for (const form of [`${aFile}${named}--B--\r\n`, `${named}${aFile}--B--\r\n`])
    for (let bytes = 1; bytes <= form.length; bytes++) {
      const [sent, problem] = await passed(form, bytes);
      t.equal(problem, why);
      t.notMatch(sent, "file-1\r\n", "the provider hasn't got it");
    }
});

t.test("one that might be read in two ways isn't passed on", async (t) => {
  const twoNames = '--B\r\ncontent-disposition: form-data; name="a"; name="file_id"\r\n\r\nfile-1';
  t.match(await passed(`${twoNames}\r\n--B--\r\n`, 1000), exactly(["", /not a readable form/]));
  t.match(
    await passed(`preamble${aFile}--B--\r\n`, 1000),
    exactly(["", /begin with its boundary/]),
  );
});
