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
const fileField = /"(?:url|image_url|data|file_data|audio)"\s*:\s*"$/;
const fieldChars = 32;

const quote = 0x22;

/**
 * `body` must be JSON. Escaped quotes are taken for quotes: they can only hide a file. Only what
 * may be as long as a file is looked at: of a stretch of that length the last quote is enough.
 */
export function promptBytes(body: Buffer): number {
  let bytes = body.length;
  if (bytes < fileCharsMin) return bytes;
  for (let at = body.indexOf(quote); at !== -1; ) {
    const last = body.lastIndexOf(quote, at + fileCharsMin);
    if (last > at) {
      at = last;
      continue;
    }
    const end = body.indexOf(quote, at + 1);
    if (end !== -1 && isFile(body, at + 1, end)) bytes -= end - at - 1 - fileBytes;
    at = end;
  }
  return bytes;
}

function isFile(body: Buffer, start: number, end: number): boolean {
  return (
    fileField.test(body.toString("latin1", Math.max(0, start - fieldChars), start)) &&
    base64.test(body.toString("latin1", end - endChars, end))
  );
}
