/**
 * A form that is passed on while it is read, and must not name what a provider keeps: the name
 * may come after the file, when most has been sent. In JSON it is looked up.
 */
import { FieldFinder } from "../body/multipart.js";
import { UploadRefused } from "../http/body-spool.js";

const field = "file_id";

/**
 * The pieces, each once it is known to name nothing. Throws `UploadRefused`, and then the provider
 * has neither the name nor the form's end.
 */
export async function* formWithoutIds(
  pieces: AsyncIterable<Buffer>,
  boundary: string,
): AsyncIterable<Buffer> {
  const finder = new FieldFinder(boundary, field);
  for await (const piece of pieces) {
    finder.push(piece);
    if (finder.problem !== null)
      throw new UploadRefused(`the body is not a readable form: ${finder.problem}`);
    if (finder.begun)
      throw new UploadRefused(`${field} can't be taken from a form: send it as JSON`);
    yield piece;
  }
}
