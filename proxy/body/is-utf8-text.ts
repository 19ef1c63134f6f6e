/** Whether bytes are UTF-8, without node:buffer, for code that must not import Node's modules. */

/**
 * RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Reads past the end give
 * undefined, which is no continuation.
 */
export function isUtf8Text(bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i]!;
    if (first < 0x80) {
      i++;
      continue;
    }
    const second = bytes[i + 1]!;
    if (first < 0xc2 || first > 0xf4 || (second & 0xc0) !== 0x80) return false;
    if (first < 0xe0) {
      i += 2;
      continue;
    }
    if (
      (bytes[i + 2]! & 0xc0) !== 0x80 ||
      (first === 0xe0 && second < 0xa0) ||
      (first === 0xed && second > 0x9f)
    )
      return false;
    if (first < 0xf0) {
      i += 3;
      continue;
    }
    if (
      (bytes[i + 3]! & 0xc0) !== 0x80 ||
      (first === 0xf0 && second < 0x90) ||
      (first === 0xf4 && second > 0x8f)
    )
      return false;
    i += 4;
  }
  return true;
}
