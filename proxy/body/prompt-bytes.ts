/**
 * The size of a prompt for an estimate: its bytes without the base64 of its files, which models
 * don't read as text.
 */

/**
 * A string counts as a file if it is this long, is the value of a file field, and ends in base64.
 */
const fileCharsMin = 8192;
/**
 * The bytes counted for a file: 1,500 tokens, as for a picture of a megapixel. A document may use
 * more.
 */
const fileBytes = 6000;
/** How many characters at the end of a string are checked. */
const endChars = 4096;
/** Both base64 alphabets. JSON may escape the slash. */
const base64 = /^[\w+/\\=-]*$/;
/** The fields that hold files. Text within a string can't match, since its quotes are escaped. */
const fileField = /"(?:url|image_url|data|file_data|audio)"\s*:\s*"$/;
const fieldChars = 32;

const quote = 0x22;

/**
 * `body` must be JSON. Escaped quotes count as quotes: the only effect is that a file may be
 * missed. Shorter strings can't be files, so the search looks only at the last quote of each
 * stretch of that length. `bytesOfFile`: what counts for a file.
 */
export function promptBytes(body: Buffer, bytesOfFile = fileBytes): number {
  let bytes = body.length;
  if (bytes < fileCharsMin) return bytes;
  for (let position = body.indexOf(quote); position !== -1; ) {
    const last = body.lastIndexOf(quote, position + fileCharsMin);
    if (last > position) {
      position = last;
      continue;
    }
    const end = body.indexOf(quote, position + 1);
    if (end !== -1 && isFile(body, position + 1, end)) bytes -= end - position - 1 - bytesOfFile;
    position = end;
  }
  return bytes;
}

function isFile(body: Buffer, start: number, end: number): boolean {
  return (
    fileField.test(body.toString("latin1", Math.max(0, start - fieldChars), start)) &&
    base64.test(body.toString("latin1", end - endChars, end))
  );
}
