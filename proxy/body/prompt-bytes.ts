/**
 * The size of a prompt for an estimate: its bytes, without the base64 of files in it, which no
 * model reads as text.
 */

/** A string is a file if it is this long, in a field for files, and ends in base64. */
const fileCharsMin = 8192;
/**
 * What a file counts instead: 1,500 tokens, as a picture of a megapixel. A document may be more.
 */
const fileBytes = 6000;
/** How much of its end is checked. */
const endChars = 4096;
/** Both alphabets; JSON may escape the slash. */
const base64 = /^[\w+/\\=-]*$/;
/**
 * The fields that hold files. Text within a string can't look like one of them, since its quotes
 * are escaped.
 */
const fileField = /"(?:url|image_url|data|file_data)"\s*:\s*"$/;
const fieldChars = 32;

/** `body` must be JSON. Escaped quotes are taken for quotes: they can only hide a file. */
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
