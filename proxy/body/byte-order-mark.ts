/** Programs on Windows begin a text with a byte order mark; no provider reads JSON after it. */
const byteOrderMark = Buffer.from("\ufeff");

/** The text after its mark; the same bytes without one. */
export function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    ? bytes.subarray(byteOrderMark.length)
    : bytes;
}
