/**
 * How long a prompt counts in an estimate: its bytes, but for the files in it, whose base64 is no
 * text that a model reads.
 */

/** One this long, in a field for files, without a space or a full stop near its end. */
const fileCharsMin = 8192;
/**
 * What a file counts: 1,500 tokens, about those of a picture of a megapixel. A document may be
 * more.
 */
const fileBytes = 6000;
/** Looked at of its end. Base64 in both alphabets; JSON may escape the slash. */
const endChars = 4096;
const base64 = /^[\w+/\\=-]*$/;
/**
 * The fields that hold files; a text within a text can't look like one of them, since its quotes
 * are escaped.
 */
const fileField = /"(?:url|image_url|data|file_data)"\s*:\s*"$/;
const fieldChars = 32;

/**
 * `body` must be JSON. Whatever stands between two quotes is looked at, which a text's own, escaped
 * ones cut into pieces.
 */
export function promptBytes(body: Buffer): number {
  if (body.length < fileCharsMin) return body.length;
  const text = body.toString("latin1");
  let bytes = body.length;
  let start = text.indexOf('"') + 1;
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', start)) {
    if (end - start >= fileCharsMin && isFile(text, start, end)) bytes -= end - start - fileBytes;
    start = end + 1;
  }
  return bytes;
}

function isFile(text: string, start: number, end: number): boolean {
  return (
    fileField.test(text.slice(Math.max(0, start - fieldChars), start)) &&
    base64.test(text.slice(end - endChars, end))
  );
}
