/**
 * What is kept of a configuration file, as bytes. They are encrypted and authenticated with a key
 * that is made from the file's own bytes and from the program: who doesn't have the file can
 * neither read them nor make others, and another file, another release or a damaged byte doesn't
 * open them.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type ParsedFile, packParsed, unpackParsed } from "../file/parsed-file.js";

/** What else decides about what a file means: the code that reads it. */
export interface Reader {
  /** Another one for each build of the program. */
  readonly program: Buffer;
  readonly runtime: string;
}

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = nonceBytes + tagBytes;

/** Null if the bytes wouldn't open as what they were made of. */
export function sealParsed(parsed: ParsedFile, file: Buffer, reader: Reader): Buffer | null {
  const text = packParsed(parsed);
  // YAML knows numbers that JSON doesn't.
  if (!isDeepStrictEqual(unpackParsed(text).document, parsed.document)) return null;
  const nonce = randomBytes(nonceBytes);
  const seal = createCipheriv(cipher, keyOf(file, reader), nonce);
  const body = Buffer.concat([seal.update(text, "utf8"), seal.final()]);
  return Buffer.concat([nonce, seal.getAuthTag(), body]);
}

/** Null for bytes that `sealParsed` never made of this file, in this program. */
export function openParsed(sealed: Buffer, file: Buffer, reader: Reader): ParsedFile | null {
  if (sealed.length <= headBytes) return null;
  const nonce = sealed.subarray(0, nonceBytes);
  const seal = createDecipheriv(cipher, keyOf(file, reader), nonce, { authTagLength: tagBytes });
  seal.setAuthTag(sealed.subarray(nonceBytes, headBytes));
  try {
    const body = seal.update(sealed.subarray(headBytes));
    seal.final();
    return unpackParsed(body.toString("utf8"));
  } catch {
    // Of another file, or damaged: the configuration is read as if there were none.
    return null;
  }
}

function keyOf(file: Buffer, { program, runtime }: Reader): Buffer {
  const hash = createHash("sha256").update("sluice kept configuration\n");
  hash.update(createHash("sha256").update(program).digest()).update(`${runtime}\n`);
  return hash.update(file).digest();
}
